"""JAX port of Heads (rules/test_joins.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def heads(p, x):
    """Heads (rules/test_joins.py:0): x (N, 4) -> (N, 2)."""
    q, k, v = jnp.split(F.linear(x, **p["fc"]), 3, axis=-1)
    return q * k + v
