"""JAX port of Product (port_collection/operators.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a tensor in save_for_backward is changed in place before the backward pass. Here
  it cannot change.
"""

import jax
import jaxgrad
from flax import nnx
from jaxgrad.nnx import Linear


class Product(nnx.Module):
    """Product (port_collection/operators.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        h = self.inner(x)
        return self.outer(SavedProduct(h, jax.nn.sigmoid(h)))


@jaxgrad.from_function
class SavedProduct:
    """SavedProduct (port_collection/operators.py:0)."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, grad * x
