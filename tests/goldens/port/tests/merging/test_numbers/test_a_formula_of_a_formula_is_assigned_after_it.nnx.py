"""JAX port of Kept (merging/test_numbers.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx


class Kept(nnx.Module):
    """Kept (merging/test_numbers.py:0)."""

    def __init__(self):
        self.drop_prob = 1 / 30
        self.weight = nnx.Param(jnp.ones(8, jnp.float32))

    def __call__(self, x):
        keep_prob = 1 - self.drop_prob
        shift = jnp.floor(x + keep_prob)
        return x * self.weight[...] / keep_prob * shift

# ---- the next port of this test ----
"""JAX port of Kept (merging/test_numbers.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx


class Kept(nnx.Module):
    """Kept (merging/test_numbers.py:0)."""

    def __init__(self):
        self.drop_prob = 1 / 30
        self.weight = nnx.Param(jnp.ones(8, jnp.float32))

    def __call__(self, x):
        keep_prob = 1 - self.drop_prob
        shift = jnp.floor(x + keep_prob)
        return x * self.weight[...] / keep_prob * shift
