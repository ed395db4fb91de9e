"""JAX port of Settings (statements/test_stores.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Settings(nnx.Module):
    """Settings (statements/test_stores.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layer = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return shadows(self.layer(x))


def shadows(h):
    """_shadows (statements/test_stores.py:0)."""
    h_2 = h * 2
    z = h_2 + 1
    return h * z

# ---- the next port of this test ----
"""JAX port of Settings (statements/test_stores.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Settings(nnx.Module):
    """Settings (statements/test_stores.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layer = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return shadows(self.layer(x))


def shadows(h):
    """_shadows (statements/test_stores.py:0)."""
    h_2 = h * 2
    z = h_2 + 1
    return h * z
