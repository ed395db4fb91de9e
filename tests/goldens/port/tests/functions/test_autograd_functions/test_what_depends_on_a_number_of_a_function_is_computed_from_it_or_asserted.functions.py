"""JAX port of NormalizedRows (functions/test_autograd_functions.py), written by jaxgrad.port for
  torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- doubled (test_autograd_functions.py:0)
- ctx.dim == -1 (test_autograd_functions.py:0)
"""

import jax
import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def normalized_rows(p, x):
    """NormalizedRows (functions/test_autograd_functions.py:0): x (N, L) -> (N, L, 1)."""
    return Normalized(x, -1, 0.2, True)


@jaxgrad.from_function
class Normalized:
    """Numbers and a bool decide about axes, branches and values.

    Normalized (functions/test_autograd_functions.py:0).
    """

    @staticmethod
    def forward(ctx, x, dim, low, doubled):
        ctx.dim = dim
        y = F.clamp(jax.nn.softmax(x, axis=dim), min=low, max=1 - low)
        assert doubled, (
            "this port holds for doubled: torch takes another branch otherwise "
            "(test_autograd_functions.py:0)"
        )
        return jnp.expand_dims(y * 2, dim)

    @staticmethod
    def backward(ctx, grad):
        assert ctx.dim == -1, "this port holds for ctx.dim == -1, as in the example"
        return grad.squeeze(axis=-1) / grad.shape[ctx.dim - 1], None, None, None

# ---- the next port of this test ----
"""JAX port of NormalizedRows (functions/test_autograd_functions.py), written by jaxgrad.port for
  torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- doubled (test_autograd_functions.py:0)
- ctx.dim == -1 (test_autograd_functions.py:0)
"""

import jax
import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def normalized_rows(p, x):
    """NormalizedRows (functions/test_autograd_functions.py:0): x (N, L) -> (N, L, 1)."""
    return Normalized(x, -1, 0.2, True)


@jaxgrad.from_function
class Normalized:
    """Numbers and a bool decide about axes, branches and values.

    Normalized (functions/test_autograd_functions.py:0).
    """

    @staticmethod
    def forward(ctx, x, dim, low, doubled):
        ctx.dim = dim
        y = F.clamp(jax.nn.softmax(x, axis=dim), min=low, max=1 - low)
        assert doubled, (
            "this port holds for doubled: torch takes another branch otherwise "
            "(test_autograd_functions.py:0)"
        )
        return jnp.expand_dims(y * 2, dim)

    @staticmethod
    def backward(ctx, grad):
        assert ctx.dim == -1, "this port holds for ctx.dim == -1, as in the example"
        return grad.squeeze(axis=-1) / grad.shape[ctx.dim - 1], None, None, None
