"""JAX port of TwoFactors (functions/test_autograd_functions.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import jaxgrad


def two_factors(p, x):
    """TwoFactors (functions/test_autograd_functions.py:0): x (N, L) -> (N, L)."""
    return Scaled(x, 0.5) + Scaled(jnp.sin(x), 0.25)


@jaxgrad.from_function
class Scaled:
    """The identity, whose gradient is scaled by a number.

    Scaled (functions/test_autograd_functions.py:0).
    """

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.reshape(x.shape)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None

# ---- the next port of this test ----
"""JAX port of TwoFactors (functions/test_autograd_functions.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import jaxgrad


def two_factors(p, x):
    """TwoFactors (functions/test_autograd_functions.py:0): x (N, L) -> (N, L)."""
    return Scaled(x, 0.5) + Scaled(jnp.sin(x), 0.25)


@jaxgrad.from_function
class Scaled:
    """The identity, whose gradient is scaled by a number.

    Scaled (functions/test_autograd_functions.py:0).
    """

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.reshape(x.shape)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None
