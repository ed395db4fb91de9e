"""JAX port of KeyedBySize (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- x.shape[1] == 4 (test_lengths.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def keyed_by_size(p, x):
    """KeyedBySize (values/test_lengths.py:0): x (N, 4, 4) -> (N, 4, 4)."""
    assert x.shape[1] == 4, "this port holds for x.shape[1] == 4, as in the example"
    return F.linear(x, **p["heads"]["4"])
