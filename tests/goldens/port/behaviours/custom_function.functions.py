"""JAX port of CustomFunction (port_collection/behaviours.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a tensor in save_for_backward is changed in place before the backward pass. Here
  it cannot change.
"""

import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def custom_function(p, x):
    """CustomFunction (port_collection/behaviours.py:0): x (N, 3) -> (N, 2)."""
    h = ClipFunction(F.linear(x, **p["inner"]), 0.5)
    return F.linear(h, **p["outer"])


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
