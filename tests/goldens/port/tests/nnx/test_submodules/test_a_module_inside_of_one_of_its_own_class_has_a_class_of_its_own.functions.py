"""JAX port of Nested (nnx/test_submodules.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def nested(p, x):
    """A module in one of its own class, which cannot be written at one height.

    Nested (nnx/test_submodules.py:0): x (N, 4) -> (N, 3).
    """
    x = F.linear(x, **p["lin"])
    return inner_nested(p["inner"], x)


def inner_nested(p, x):
    """A module in one of its own class, which cannot be written at one height.

    Nested (nnx/test_submodules.py:0): x (N, 4) -> (N, 3).
    """
    x = F.linear(x, **p["lin"])
    if "inner" in p:
        return inner_nested(p["inner"], x)
    return x
