"""JAX port of Joined (values/test_computed.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class Joined(nnx.Module):
    """Joined (values/test_computed.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.norm = BatchNorm1d(3)
        self.a = Linear(3, 2, rngs=rngs)
        self.b = Linear(3, 2, rngs=rngs)
        self.c = Linear(2, 5, rngs=rngs)

    def __call__(self, x, y):
        others = [y.sum()]
        parts = [self.level(v)[0] for v in (x, y)]
        parts = [parts[0], parts[1], others[0]]
        return parts[0] * parts[1] * parts[2]

    def level(self, x):
        h = self.norm(x)
        return self.a(h), self.b(h)
