"""JAX port of Stopped (values/test_computed.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax
from jaxgrad.nnx import BatchNorm1d, Linear


class Stopped(nnx.Module):
    """Stopped (values/test_computed.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.norm = BatchNorm1d(3)
        self.a = Linear(3, 2, rngs=rngs)
        self.b = Linear(3, 2, rngs=rngs)
        self.c = Linear(2, 5, rngs=rngs)

    def __call__(self, x, y):
        parts = lax.stop_gradient([self.level(v)[0] for v in (x, y)])
        return parts[0] * parts[1] * self.a(x)

    def level(self, x):
        h = self.norm(x)
        return self.a(h), self.b(h)
