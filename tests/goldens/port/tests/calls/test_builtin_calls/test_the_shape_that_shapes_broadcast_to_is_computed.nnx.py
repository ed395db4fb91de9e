"""JAX port of Broadcast (calls/test_builtin_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Broadcast(nnx.Module):
    """Broadcast (calls/test_builtin_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        shape = jnp.broadcast_shapes(h.shape[:1], (1,))
        return jnp.broadcast_to(h.mean(axis=0), (shape[0], 4)) * h + 5

# ---- the next port of this test ----
"""JAX port of Broadcast (calls/test_builtin_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Broadcast(nnx.Module):
    """Broadcast (calls/test_builtin_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        shape = jnp.broadcast_shapes(h.shape[:1], (1,))
        return jnp.broadcast_to(h.mean(axis=0), (shape[0], 4)) * h + 5
