"""JAX port of Plain (functions/test_context_managers.py), written by jaxgrad.port for torch 2.13.
"""

from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Plain(nnx.Module):
    """Plain (functions/test_context_managers.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layer = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return frozen(self.layer(x))


def frozen(h):
    """_frozen (functions/test_context_managers.py:0)."""
    scale = F.max(F.abs(lax.stop_gradient(h)))
    scale = lax.stop_gradient(scale)
    pair = lax.stop_gradient(h * 2), lax.stop_gradient(h * 3 + scale)
    first, second = pair
    return h + first * second

# ---- the next port of this test ----
"""JAX port of Plain (functions/test_context_managers.py), written by jaxgrad.port for torch 2.13.
"""

from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Plain(nnx.Module):
    """Plain (functions/test_context_managers.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layer = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return frozen(self.layer(x))


def frozen(h):
    """_frozen (functions/test_context_managers.py:0)."""
    scale = F.max(F.abs(lax.stop_gradient(h)))
    scale = lax.stop_gradient(scale)
    pair = lax.stop_gradient(h * 2), lax.stop_gradient(h * 3 + scale)
    first, second = pair
    return h + first * second
