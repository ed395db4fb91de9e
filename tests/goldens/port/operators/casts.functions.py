"""JAX port of Casts (port_collection/operators.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def casts(p, x):
    """Casts (port_collection/operators.py:0): x (N, 3) -> (N, 2)."""
    h = F.linear(x.astype(jnp.bfloat16).astype(jnp.float32), **p["inner"])
    return F.linear(h, **p["outer"])
