"""JAX port of Axis (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Axis(nnx.Module):
    """Axis (calls/test_iteration_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        h = self.linear(x)
        return h / jnp.square(h).sum(axis=-1, keepdims=True)

# ---- the next port of this test ----
"""JAX port of Axis (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Axis(nnx.Module):
    """Axis (calls/test_iteration_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        h = self.linear(x)
        return h / jnp.square(h).sum(axis=-1, keepdims=True)
