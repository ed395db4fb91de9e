"""JAX port of MaskedAssignment (port_collection/behaviours.py), written by jaxgrad.port for torch
  2.13.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class MaskedAssignment(nnx.Module):
    """MaskedAssignment (port_collection/behaviours.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x, mask):
        h = self.inner(x) * 2
        h = jnp.where(mask[..., None], 0.0, h)
        return self.outer(h)
