"""JAX port of Settings (statements/test_stores.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import Linear


class Settings(nnx.Module):
    """Settings (statements/test_stores.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layer = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return constructs(self.layer(x))


def constructs(h):
    """_constructs (statements/test_stores.py:0)."""
    return jax.nn.softmax(h, axis=-1) * h

# ---- the next port of this test ----
"""JAX port of Settings (statements/test_stores.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import Linear


class Settings(nnx.Module):
    """Settings (statements/test_stores.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layer = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return constructs(self.layer(x))


def constructs(h):
    """_constructs (statements/test_stores.py:0)."""
    return jax.nn.softmax(h, axis=-1) * h
