"""JAX port of Masked (rules/test_selections.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def masked(p, x):
    """Masked (rules/test_selections.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["fc"])
    return jnp.where(x < 1, jnp.where(x > 0, h, jnp.zeros((), dtype=h.dtype)), -h)
