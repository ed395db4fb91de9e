"""JAX port of Kept (functions/test_made_objects.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Kept(nnx.Module):
    """Kept (functions/test_made_objects.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return reads(self.fc(x))


def reads(h):
    """_reads (functions/test_made_objects.py:0)."""
    last = jnp.tanh(h)
    h = h * 2
    return last * h

# ---- the next port of this test ----
"""JAX port of Kept (functions/test_made_objects.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Kept(nnx.Module):
    """Kept (functions/test_made_objects.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return reads(self.fc(x))


def reads(h):
    """_reads (functions/test_made_objects.py:0)."""
    last = jnp.tanh(h)
    h = h * 2
    return last * h

# ---- the next port of this test ----
"""JAX port of Kept (functions/test_made_objects.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Kept(nnx.Module):
    """Kept (functions/test_made_objects.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return reads(self.fc(x))


def reads(h):
    """_reads (functions/test_made_objects.py:0)."""
    last = jnp.tanh(h)
    h = h * 2
    return last * h
