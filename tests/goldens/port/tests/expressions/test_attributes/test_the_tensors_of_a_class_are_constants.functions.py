"""JAX port of Staged (expressions/test_attributes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def staged(p, x):
    """Staged (expressions/test_attributes.py:0): x (N, 3) -> (N, 3)."""
    x = F.linear(x, **p["fc"])
    return value(x)


def value(x):
    """Stages.value (expressions/test_attributes.py:0): x (N, 3) -> (N, 3)."""
    y = jnp.array([0.25, 0.75], dtype=jnp.float32)[1].astype(x.dtype)
    return x * y + jnp.array(0.5, dtype=jnp.float32).astype(x.dtype)
