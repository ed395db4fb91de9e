"""JAX port of Accumulate (port_collection/operators.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import Linear


class Accumulate(nnx.Module):
    """Accumulate (port_collection/operators.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        h = self.inner(x)
        h += jax.nn.sigmoid(h)
        h *= 2
        return self.outer(h / (1 + h**2))
