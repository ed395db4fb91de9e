"""JAX port of NoTurns (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- len(range(abs(x.shape[1] - 4))) == 0 (test_lengths.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def no_turns(p, x):
    """NoTurns (values/test_lengths.py:0): x (N, 4, 4) -> (N, 4, 4)."""
    y = F.linear(x, **p["linear"])
    assert len(range(abs(x.shape[1] - 4))) == 0, "this port holds for 0 elements, as in the example"
    return y
