"""JAX port of Settings (statements/test_stores.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Settings(nnx.Module):
    """Settings (statements/test_stores.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layer = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return replaces(self.layer(x))


def replaces(h):
    """_replaces (statements/test_stores.py:0)."""
    pair = pair_forward(h)
    first = pair["first"] * pair["second"]
    return first + pair["second"]


def pair_forward(h):
    """_pair (statements/test_stores.py:0)."""
    twice = h * 2
    return {"first": jnp.tanh(twice), "second": twice}

# ---- the next port of this test ----
"""JAX port of Settings (statements/test_stores.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Settings(nnx.Module):
    """Settings (statements/test_stores.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layer = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return replaces(self.layer(x))


def replaces(h):
    """_replaces (statements/test_stores.py:0)."""
    pair = pair_forward(h)
    first = pair["first"] * pair["second"]
    return first + pair["second"]


def pair_forward(h):
    """_pair (statements/test_stores.py:0)."""
    twice = h * 2
    return {"first": jnp.tanh(twice), "second": twice}
