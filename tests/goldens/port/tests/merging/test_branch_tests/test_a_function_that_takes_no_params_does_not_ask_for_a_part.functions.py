"""JAX port of Both (merging/test_branch_tests.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def both(p, x):
    """Both (merging/test_branch_tests.py:0): x (N, 4) -> (N, 4)."""
    x = halved(p["layers"][0], x)
    return halved(p["layers"][1], x)


def halved(p, x):
    """A method that reads no weight, and asks whether there is a layer.

    Halved (merging/test_branch_tests.py:0): x (N, 4) -> (N, 4).
    """
    if "down" in p:
        x = F.linear(size(x), **p["body"])
        return F.linear(x, **p["down"])
    return F.linear(size_without_down(x), **p["body"])


def size(x):
    """Halved.size (merging/test_branch_tests.py:0): x (N, 4) -> (N, 4)."""
    y, width = jnp.exp(jnp.sin(x)), x.shape[0]
    return jnp.cos(y) * width


def size_without_down(x):
    """Halved.size (merging/test_branch_tests.py:0): x (N, 4) -> (N, 4)."""
    y = x
    return jnp.cos(y) * 4
