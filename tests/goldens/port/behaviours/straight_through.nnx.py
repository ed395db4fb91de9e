"""JAX port of StraightThrough (port_collection/behaviours.py), written by jaxgrad.port for torch
  2.13.
"""

import jax
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class StraightThrough(nnx.Module):
    """StraightThrough (port_collection/behaviours.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        h = jax.nn.sigmoid(self.inner(x))
        return self.outer(h + lax.stop_gradient(F.round(h) - h))
