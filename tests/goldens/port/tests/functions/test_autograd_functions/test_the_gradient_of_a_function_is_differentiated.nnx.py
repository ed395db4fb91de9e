"""JAX port of Twice (functions/test_autograd_functions.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a tensor in save_for_backward is changed in place before the backward pass. Here
  it cannot change.
"""

import jax
import jaxgrad
from flax import nnx
from jaxgrad.nnx import Linear


class Twice(nnx.Module):
    """Twice (functions/test_autograd_functions.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.first(x)

        def value(h):
            return Cube(h).sum()

        (grad,) = jax.grad(value, (0,))(h)
        return self.second(grad)


@jaxgrad.from_function
class Cube:
    """Cube (functions/test_autograd_functions.py:0)."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * CubeBackward(x, grad)


@jaxgrad.from_function
class CubeBackward:
    """CubeBackward (functions/test_autograd_functions.py:0)."""

    @staticmethod
    def forward(ctx, x, grad):
        ctx.save_for_backward(x, grad)
        return 3 * x**2 * grad

    @staticmethod
    def backward(ctx, cotangent):
        x, grad = ctx.saved_tensors
        return cotangent * 5 * x * grad, cotangent * 3 * x**2

# ---- the next port of this test ----
"""JAX port of Twice (functions/test_autograd_functions.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a tensor in save_for_backward is changed in place before the backward pass. Here
  it cannot change.
"""

import jax
import jaxgrad
from flax import nnx
from jaxgrad.nnx import Linear


class Twice(nnx.Module):
    """Twice (functions/test_autograd_functions.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.first(x)

        def value(h):
            return Cube(h).sum()

        (grad,) = jax.grad(value, (0,))(h)
        return self.second(grad)


@jaxgrad.from_function
class Cube:
    """Cube (functions/test_autograd_functions.py:0)."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * CubeBackward(x, grad)


@jaxgrad.from_function
class CubeBackward:
    """CubeBackward (functions/test_autograd_functions.py:0)."""

    @staticmethod
    def forward(ctx, x, grad):
        ctx.save_for_backward(x, grad)
        return 3 * x**2 * grad

    @staticmethod
    def backward(ctx, cotangent):
        x, grad = ctx.saved_tensors
        return cotangent * 5 * x * grad, cotangent * 3 * x**2
