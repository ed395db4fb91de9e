"""JAX port of Keywords (values/test_computed.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class Keywords(nnx.Module):
    """Keywords (values/test_computed.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.norm = BatchNorm1d(3)
        self.a = Linear(3, 2, rngs=rngs)
        self.b = Linear(3, 2, rngs=rngs)
        self.c = Linear(2, 5, rngs=rngs)

    def __call__(self, x, y):
        parts = self.named(x)
        record = {"a": parts["a"], "b": parts["b"], "y": y}
        parts_2 = self.named(y)
        return self.both(parts_2["a"], parts_2["b"]) * record["a"] + record["b"]

    def named(self, x):
        h = self.norm(x)
        return {"a": self.a(h), "b": self.b(h)}

    def both(self, a, b):
        return a * b + a
