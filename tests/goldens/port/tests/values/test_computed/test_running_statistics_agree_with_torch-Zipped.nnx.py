"""JAX port of Zipped (values/test_computed.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class Zipped(nnx.Module):
    """Zipped (values/test_computed.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.norm = BatchNorm1d(3)
        self.a = Linear(3, 2, rngs=rngs)
        self.b = Linear(3, 2, rngs=rngs)
        self.c = Linear(2, 5, rngs=rngs)

    def __call__(self, x, y):
        a, b = zip(*[self.level(v) for v in (x, y)], strict=True)
        return jnp.concatenate(a, axis=0), jnp.concatenate(b, axis=0)

    def level(self, x):
        h = self.norm(x)
        return self.a(h), self.b(h)
