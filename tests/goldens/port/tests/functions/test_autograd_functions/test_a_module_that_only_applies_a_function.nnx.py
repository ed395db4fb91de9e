"""JAX port of Reversal (functions/test_autograd_functions.py), written by jaxgrad.port for torch
  2.13.
"""

import jaxgrad
from flax import nnx


class Reversal(nnx.Module):
    """Reversal (functions/test_autograd_functions.py:0)."""

    def __call__(self, x):
        return Reversed(x)


@jaxgrad.from_function
class Reversed:
    """Reversed (functions/test_autograd_functions.py:0)."""

    @staticmethod
    def forward(ctx, x):
        return x.reshape(x.shape)

    @staticmethod
    def backward(ctx, grad):
        return -grad

# ---- the next port of this test ----
"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13."""

import jaxgrad
from flax import nnx
from jaxgrad.nnx import Linear


class Sequential(nnx.Module):
    """torch.nn.Sequential."""

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", Linear(4, 4, rngs=rngs))
        setattr(self, "1", Reversal())

    def __call__(self, x):
        x = getattr(self, "0")(x)
        return getattr(self, "1")(x)


class Reversal(nnx.Module):
    """Reversal (functions/test_autograd_functions.py:0)."""

    def __call__(self, x):
        return Reversed(x)


@jaxgrad.from_function
class Reversed:
    """Reversed (functions/test_autograd_functions.py:0)."""

    @staticmethod
    def forward(ctx, x):
        return x.reshape(x.shape)

    @staticmethod
    def backward(ctx, grad):
        return -grad
