"""JAX port of Product (port_collection/operators.py), written by jaxgrad.port for torch 2.13.

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


def product(p, x):
    """Product (port_collection/operators.py:0): x (N, 3) -> (N, 2)."""
    h = F.linear(x, **p["inner"])
    return F.linear(SavedProduct(h, jax.nn.sigmoid(h)), **p["outer"])


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
