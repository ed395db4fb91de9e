"""JAX port of Settings (statements/test_stores.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Settings(nnx.Module):
    """Settings (statements/test_stores.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layer = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return keeps(self.layer(x))


def keeps(h):
    """_keeps (statements/test_stores.py:0)."""
    first = h
    h = h * 2
    return h * first

# ---- the next port of this test ----
"""JAX port of Settings (statements/test_stores.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Settings(nnx.Module):
    """Settings (statements/test_stores.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layer = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return keeps(self.layer(x))


def keeps(h):
    """_keeps (statements/test_stores.py:0)."""
    first = h
    h = h * 2
    return h * first
