"""JAX port of UnrolledCalls (values/test_computed.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class UnrolledCalls(nnx.Module):
    """UnrolledCalls (values/test_computed.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.norm = BatchNorm1d(3)
        self.a = Linear(3, 2, rngs=rngs)
        self.b = Linear(3, 2, rngs=rngs)
        self.c = Linear(2, 5, rngs=rngs)

    def __call__(self, x, y):
        parts = self.level(x)
        total = 0 + self.c(parts[0]).sum() * parts[1]
        parts_2 = self.level(y)
        return total + parts_2[0] * parts_2[1] * parts_2[0]

    def level(self, x):
        h = self.norm(x)
        return self.a(h), self.b(h)
