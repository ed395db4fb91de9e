"""JAX port of Cached (functions/test_made_objects.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Cached(nnx.Module):
    """Cached (functions/test_made_objects.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.blocks = nnx.List([Block(rngs=rngs) for _ in range(2)])

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class Block(nnx.Module):
    """Block (functions/test_made_objects.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        keys = self.fc(x)
        keys_3 = keys
        h = keys_3
        return jnp.tanh(h)

# ---- the next port of this test ----
"""JAX port of Cached (functions/test_made_objects.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Cached(nnx.Module):
    """Cached (functions/test_made_objects.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.blocks = nnx.List([Block(rngs=rngs) for _ in range(2)])

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class Block(nnx.Module):
    """Block (functions/test_made_objects.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        keys = self.fc(x)
        keys_3 = keys
        h = keys_3
        return jnp.tanh(h)
