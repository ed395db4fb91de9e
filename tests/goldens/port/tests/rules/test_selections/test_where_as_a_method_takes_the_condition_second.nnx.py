"""JAX port of Masked (rules/test_selections.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Masked(nnx.Module):
    """Masked (rules/test_selections.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        return jnp.where(x < 1, jnp.where(x > 0, h, jnp.zeros((), dtype=h.dtype)), -h)
