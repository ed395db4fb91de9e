"""JAX port of Reversal (functions/test_autograd_functions.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jaxgrad


def reversal(p, x):
    """Reversal (functions/test_autograd_functions.py:0): x (N, L) -> (N, L)."""
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
"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def sequential(p, x):
    """torch.nn.Sequential: x (N, 4) -> (N, 4)."""
    x = F.linear(x, **p[0])
    return reversal(x)


def reversal(x):
    """Reversal (functions/test_autograd_functions.py:0): x (N, 4) -> (N, 4)."""
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
