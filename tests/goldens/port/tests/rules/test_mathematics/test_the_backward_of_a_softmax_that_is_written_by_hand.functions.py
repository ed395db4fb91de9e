"""JAX port of Attends (rules/test_mathematics.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a tensor in save_for_backward is changed in place before the backward pass. Here
  it cannot change.
"""

import jax
import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def attends(p, x):
    """Attends (rules/test_mathematics.py:0): x (N, 4) -> (N, 4)."""
    return Softmax(F.linear(x, **p["fc"]))


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
