"""JAX port of Sizes (port_collection/operators.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Sizes(nnx.Module):
    """Sizes (port_collection/operators.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        h = self.inner(x).reshape(x.shape[0] * 2, 2)
        return self.outer(h.reshape(x.shape[0], -1) / x.shape[0])
