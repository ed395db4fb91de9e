"""JAX port of Swished (functions/test_autograd_functions.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def swished(p, x):
    """Swished (functions/test_autograd_functions.py:0): x (N, 4) -> (N, 4)."""
    return Swish(F.linear(x, **p["fc"]), 2.0)


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
