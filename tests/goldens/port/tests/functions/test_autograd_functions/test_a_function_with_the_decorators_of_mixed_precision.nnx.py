"""JAX port of Swished (functions/test_autograd_functions.py), written by jaxgrad.port for torch
  2.13.
"""

import jax
import jaxgrad
from flax import nnx
from jaxgrad.nnx import Linear


class Swished(nnx.Module):
    """Swished (functions/test_autograd_functions.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return Swish(self.fc(x), 2.0)


@jaxgrad.from_function
class Swish:
    """Its decorators do nothing without autocast; only `x` can have a gradient.

    Swish (functions/test_autograd_functions.py:0).
    """

    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * jax.nn.sigmoid(scale * x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        gate = jax.nn.sigmoid(ctx.scale * x)
        return grad * gate * (1 + ctx.scale * x * (1 - gate)), None
