"""JAX port of Normed (finish/test_updates.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class Normed(nnx.Module):
    """Normed (finish/test_updates.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.norm = BatchNorm1d(3)
        self.tail = nnx.Sequential(Linear(3, 3, rngs=rngs), BatchNorm1d(3))

    def __call__(self, x):
        h = jnp.tanh(self.norm(x))
        return self.tail(h) + x

# ---- the next port of this test ----
"""JAX port of Both (finish/test_updates.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class Both(nnx.Module):
    """Both (finish/test_updates.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.norm = BatchNorm1d(3)
        self.tail = nnx.Sequential(Linear(3, 3, rngs=rngs), BatchNorm1d(3))

    def __call__(self, x):
        h = self.norm(x)
        return self.tail(h) * h
