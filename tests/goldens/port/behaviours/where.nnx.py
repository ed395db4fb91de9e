"""JAX port of Where (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Where(nnx.Module):
    """Where (port_collection/behaviours.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        h = self.inner(x)
        return self.outer(jnp.where(h > 0, h, lax.stop_gradient(h) * 0.1))
