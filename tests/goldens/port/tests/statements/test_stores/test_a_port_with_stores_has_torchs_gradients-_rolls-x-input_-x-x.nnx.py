"""JAX port of Settings (statements/test_stores.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Settings(nnx.Module):
    """Settings (statements/test_stores.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layer = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return rolls(self.layer(x))


def rolls(input_):
    """_rolls (statements/test_stores.py:0)."""
    x = jnp.roll(input_, (1, 1), axis=(0, 1))
    return x * input_

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
        return rolls(self.layer(x))


def rolls(input_):
    """_rolls (statements/test_stores.py:0)."""
    x = jnp.roll(input_, (1, 1), axis=(0, 1))
    return x * input_
