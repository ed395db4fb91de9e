"""JAX port of Twice (functions/test_autograd_functions.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a tensor in save_for_backward is changed in place before the backward pass. Here
  it cannot change.
"""

import jax
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def twice(p, x):
    """Twice (functions/test_autograd_functions.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["first"])
    grad = jax.grad(lambda h: Cube(h).sum())(h)
    return F.linear(grad, **p["second"])


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

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a tensor in save_for_backward is changed in place before the backward pass. Here
  it cannot change.
"""

import jax
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def twice(p, x):
    """Twice (functions/test_autograd_functions.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["first"])
    grad = jax.grad(lambda h: Cube(h).sum())(h)
    return F.linear(grad, **p["second"])


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
