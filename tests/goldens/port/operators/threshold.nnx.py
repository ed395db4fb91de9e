"""JAX port of Threshold (port_collection/operators.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Threshold(nnx.Module):
    """Threshold (port_collection/operators.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return self.outer(self.inner(x) * (x.sum(axis=-1, keepdims=True) > 0))
