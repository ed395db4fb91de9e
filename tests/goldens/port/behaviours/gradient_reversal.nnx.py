"""JAX port of GradientReversal (port_collection/behaviours.py), written by jaxgrad.port for torch
  2.13.
"""

import jaxgrad
from flax import nnx
from jaxgrad.nnx import Linear


class GradientReversal(nnx.Module):
    """GradientReversal (port_collection/behaviours.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return self.outer(Reverse(self.inner(x)))


@jaxgrad.from_function
class Reverse:
    """Reverse (port_collection/behaviours.py:0)."""

    @staticmethod
    def forward(ctx, x):
        return x.reshape(x.shape)

    @staticmethod
    def backward(ctx, grad):
        return -grad
