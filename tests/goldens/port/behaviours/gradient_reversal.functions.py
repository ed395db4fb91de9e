"""JAX port of GradientReversal (port_collection/behaviours.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def gradient_reversal(p, x):
    """GradientReversal (port_collection/behaviours.py:0): x (N, 3) -> (N, 2)."""
    return F.linear(Reverse(F.linear(x, **p["inner"])), **p["outer"])


@jaxgrad.from_function
class Reverse:
    """Reverse (port_collection/behaviours.py:0)."""

    @staticmethod
    def forward(ctx, x):
        return x.reshape(x.shape)

    @staticmethod
    def backward(ctx, grad):
        return -grad
