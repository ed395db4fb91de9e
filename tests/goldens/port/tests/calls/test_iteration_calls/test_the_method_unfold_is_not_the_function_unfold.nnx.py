"""JAX port of Windows (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Windows(nnx.Module):
    """Windows (calls/test_iteration_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        linear = self.linear(x)
        windows = jnp.arange(0, linear.shape[0] - 2 + 1, 1)[:, None] + jnp.arange(2)
        h = jnp.moveaxis(jnp.take(linear, windows, axis=0), 1, -1)
        windows_2 = jnp.arange(0, h.shape[2] - 1 + 1, 1)[:, None] + jnp.arange(1)
        return jnp.take(h, windows_2, axis=2)[..., 0] * 2

# ---- the next port of this test ----
"""JAX port of Windows (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Windows(nnx.Module):
    """Windows (calls/test_iteration_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        linear = self.linear(x)
        windows = jnp.arange(0, linear.shape[0] - 2 + 1, 1)[:, None] + jnp.arange(2)
        h = jnp.moveaxis(jnp.take(linear, windows, axis=0), 1, -1)
        windows_2 = jnp.arange(0, h.shape[2] - 1 + 1, 1)[:, None] + jnp.arange(1)
        return jnp.take(h, windows_2, axis=2)[..., 0] * 2
