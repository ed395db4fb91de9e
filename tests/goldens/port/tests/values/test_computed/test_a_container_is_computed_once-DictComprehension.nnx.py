"""JAX port of DictComprehension (values/test_computed.py), written by jaxgrad.port for torch 2.13.
"""

from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class DictComprehension(nnx.Module):
    """DictComprehension (values/test_computed.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.norm = BatchNorm1d(3)
        self.a = Linear(3, 2, rngs=rngs)
        self.b = Linear(3, 2, rngs=rngs)
        self.c = Linear(2, 5, rngs=rngs)

    def __call__(self, x, y):
        parts = [self.level(v) for v in (x, y)]
        d = {"a": parts[0][0] * parts[0][1], "b": parts[1][0] * parts[1][1]}
        return d["a"] * d["b"]

    def level(self, x):
        h = self.norm(x)
        return self.a(h), self.b(h)
