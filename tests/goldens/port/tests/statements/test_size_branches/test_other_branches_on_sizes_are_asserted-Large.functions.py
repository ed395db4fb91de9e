"""JAX port of Large (statements/test_size_branches.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- y.shape[0] <= 64 (test_size_branches.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def large(p, x):
    """Large (statements/test_size_branches.py:0): x (N, L, 4) -> (N, L, 4)."""
    y = F.linear(x, **p["linear"])
    assert y.shape[0] <= 64, (
        "this port holds for y.shape[0] <= 64: torch takes another branch otherwise "
        "(test_size_branches.py:0)"
    )
    return y
