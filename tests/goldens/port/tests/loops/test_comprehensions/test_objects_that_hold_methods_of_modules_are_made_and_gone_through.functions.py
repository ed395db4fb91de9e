"""JAX port of Flow (loops/test_comprehensions.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def flow(p, x):
    """Flow (loops/test_comprehensions.py:0): x (N, 4) -> (N, 4)."""
    x = apply(p["layers"][0], x)
    return apply(p["layers"][1], x)


def apply(function, x):
    """Lazy.apply (loops/test_comprehensions.py:0): x (N, 4) -> (N, 4)."""
    return x * scale(function, x)


def scale(p, x):
    """Conditioner.scale (loops/test_comprehensions.py:0): x (N, 4) -> (N, 4)."""
    return jnp.tanh(F.linear(x, **p["fc"]))
