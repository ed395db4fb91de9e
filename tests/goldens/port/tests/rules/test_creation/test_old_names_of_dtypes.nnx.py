"""JAX port of Cast (rules/test_creation.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Cast(nnx.Module):
    """Cast (rules/test_creation.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        mask = (x > 0).astype(bool)
        return self.fc(x) * mask.astype(jnp.float32) + (x < 1).astype(jnp.float32)
