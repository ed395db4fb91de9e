"""JAX port of Plain (functions/test_context_managers.py), written by jaxgrad.port for torch 2.13.
"""

from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Plain(nnx.Module):
    """Plain (functions/test_context_managers.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layer = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return returns(self.layer(x))


def returns(h):
    """_returns (functions/test_context_managers.py:0)."""
    twice = lax.stop_gradient(h * 2)
    return lax.stop_gradient(h + twice)
