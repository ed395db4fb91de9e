"""JAX port of _Private (source/test_source.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def private(p, x):
    """Python gives names of two underscores another name in each class.

    _Private (source/test_source.py:0): x (N, 4) -> (N, 4).
    """
    return scaled(p, x + 1)


def scaled(p, x):
    """_Private.__scaled (source/test_source.py:0): x (N, 4) -> (N, 4)."""
    return F.linear(x, **p["_Private__layer"]) * 2
