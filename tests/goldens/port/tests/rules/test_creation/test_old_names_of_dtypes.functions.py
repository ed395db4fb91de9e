"""JAX port of Cast (rules/test_creation.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def cast(p, x):
    """Cast (rules/test_creation.py:0): x (N, 4) -> (N, 4)."""
    mask = (x > 0).astype(bool)
    return F.linear(x, **p["fc"]) * mask.astype(jnp.float32) + (x < 1).astype(jnp.float32)
