"""JAX port of Repeated (values/test_computed.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class Repeated(nnx.Module):
    """Repeated (values/test_computed.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.norm = BatchNorm1d(3)
        self.a = Linear(3, 2, rngs=rngs)
        self.b = Linear(3, 2, rngs=rngs)
        self.c = Linear(2, 5, rngs=rngs)

    def __call__(self, x, y):
        item = self.level(x)[0]
        return jnp.concatenate([item, item], axis=0) + y.sum()

    def level(self, x):
        h = self.norm(x)
        return self.a(h), self.b(h)
