"""JAX port of ZippedMap (values/test_computed.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class ZippedMap(nnx.Module):
    """ZippedMap (values/test_computed.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.norm = BatchNorm1d(3)
        self.a = Linear(3, 2, rngs=rngs)
        self.b = Linear(3, 2, rngs=rngs)
        self.c = Linear(2, 5, rngs=rngs)

    def __call__(self, x, y):
        a_0, b_0 = self.level(x)
        a_1, b_1 = self.level(y)
        a, b = jnp.concatenate((a_0, a_1), axis=0), jnp.concatenate((b_0, b_1), axis=0)
        return a, b

    def level(self, x):
        h = self.norm(x)
        return self.a(h), self.b(h)
