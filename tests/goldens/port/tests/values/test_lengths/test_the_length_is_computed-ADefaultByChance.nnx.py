"""JAX port of ADefaultByChance (values/test_lengths.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class ADefaultByChance(nnx.Module):
    """ADefaultByChance (values/test_lengths.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return jnp.triu(self.linear(x), x.shape[1] - 4)
