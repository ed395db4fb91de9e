"""JAX port of MaskedAssignment (port_collection/behaviours.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def masked_assignment(p, x, mask):
    """MaskedAssignment (port_collection/behaviours.py:0): x (N, 3), mask (N,) bool -> (N, 2)."""
    h = F.linear(x, **p["inner"]) * 2
    h = jnp.where(mask[..., None], 0.0, h)
    return F.linear(h, **p["outer"])
