"""JAX port of Attends (rules/test_mathematics.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a tensor in save_for_backward is changed in place before the backward pass. Here
  it cannot change.
"""

import jax
import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jaxgrad.nnx import Linear


class Attends(nnx.Module):
    """Attends (rules/test_mathematics.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return Softmax(self.fc(x))


@jaxgrad.from_function
class Softmax:
    """Softmax (rules/test_mathematics.py:0)."""

    @staticmethod
    def forward(ctx, x):
        y = jax.nn.softmax(x, axis=-1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, *grads):
        (y,) = ctx.saved_tensors
        return (y * (grads[0] - (grads[0] * y).sum(axis=-1, keepdims=True))).astype(jnp.float32)
