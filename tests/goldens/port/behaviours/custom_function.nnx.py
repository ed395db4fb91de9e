"""JAX port of CustomFunction (port_collection/behaviours.py), written by jaxgrad.port for torch
  2.13.

Differences from torch by design:
- torch raises if a tensor in save_for_backward is changed in place before the backward pass. Here
  it cannot change.
"""

import jaxgrad
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class CustomFunction(nnx.Module):
    """CustomFunction (port_collection/behaviours.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        h = ClipFunction(self.inner(x), 0.5)
        return self.outer(h)


@jaxgrad.from_function
class ClipFunction:
    """ClipFunction (port_collection/behaviours.py:0)."""

    @staticmethod
    def forward(ctx, x, bound):
        ctx.save_for_backward(x)
        ctx.bound = bound
        return F.clamp(x, min=-bound, max=bound)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (F.abs(x) <= ctx.bound) * 0.5, None
