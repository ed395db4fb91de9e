"""JAX port of Joined (rules/test_joins.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Joined(nnx.Module):
    """Joined (rules/test_joins.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return jnp.concatenate([self.fc(x), x], axis=-1)
