"""JAX port of Policy (values/test_results.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Policy(nnx.Module):
    """Policy (values/test_results.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        scale = jnp.exp(h)
        loc_2, scale_2 = jnp.broadcast_arrays(h, scale)
        probs = jax.nn.softmax(h, axis=-1)
        probs_2 = probs / probs.sum(axis=-1, keepdims=True)
        return {"probs": probs_2}, {"loc": loc_2, "scale": scale_2}, {"value": h.mean()}

# ---- the next port of this test ----
"""JAX port of Policy (values/test_results.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Policy(nnx.Module):
    """Policy (values/test_results.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        scale = jnp.exp(h)
        loc_2, scale_2 = jnp.broadcast_arrays(h, scale)
        probs = jax.nn.softmax(h, axis=-1)
        probs_2 = probs / probs.sum(axis=-1, keepdims=True)
        return {"probs": probs_2}, {"loc": loc_2, "scale": scale_2}, {"value": h.mean()}
