"""JAX port of OfParameters (values/test_ranks.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx


class OfParameters(nnx.Module):
    """OfParameters (values/test_ranks.py:0)."""

    def __init__(self):
        self.weight = nnx.Param(jnp.ones((4, 4), jnp.float32))

    def __call__(self, x):
        return x @ self.weight[...]
