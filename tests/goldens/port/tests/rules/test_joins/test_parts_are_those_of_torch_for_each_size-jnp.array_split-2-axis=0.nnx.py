"""JAX port of Parts (rules/test_joins.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Parts(nnx.Module):
    """Parts (rules/test_joins.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 6, rngs=rngs)

    def __call__(self, x):
        x = enumerate(jnp.array_split(self.fc(x), 2, axis=0))
        return jnp.concatenate([h * (n + 1) for n, h in x], axis=0)
