"""JAX port of NoGradDecorator (port_collection/behaviours.py), written by jaxgrad.port for torch
  2.13.
"""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class NoGradDecorator(nnx.Module):
    """NoGradDecorator (port_collection/behaviours.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        h = self.inner(x)
        return self.outer(h * self.target(h))

    def target(self, h):
        return lax.stop_gradient(target(h))


def target(h):
    """target (port_collection/behaviours.py:0)."""
    return jnp.tanh(h) * 2
