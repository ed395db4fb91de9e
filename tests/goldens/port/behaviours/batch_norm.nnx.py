"""JAX port of BatchNorm (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class BatchNorm(nnx.Module):
    """BatchNorm (port_collection/behaviours.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)
        self.norm = BatchNorm1d(4)

    def __call__(self, x):
        return self.outer(self.norm(self.inner(x)))
