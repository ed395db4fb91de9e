"""JAX port of Packed (functions/test_functions.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- (positions.diff() == 1).all() (test_functions.py:0)
- x.shape[-1] == 4 (test_functions.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def packed(p, x):
    """A test on positions, which depend on sizes alone, and a `return` inside of a loop.

    Packed (functions/test_functions.py:0): x (N, L, 4) -> (N, L, 4).
    """
    x = x * 2
    x = F.linear(x, **p["layers"][0])
    assert x.shape[-1] == 4, (
        "this port holds for x.shape[-1] == 4: torch takes another branch otherwise "
        "(test_functions.py:0)"
    )
    return x
