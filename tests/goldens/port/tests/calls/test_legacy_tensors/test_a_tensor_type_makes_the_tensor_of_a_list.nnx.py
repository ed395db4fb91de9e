"""JAX port of Scaled (calls/test_legacy_tensors.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- count == 2 (test_legacy_tensors.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Scaled(nnx.Module):
    """Scaled (calls/test_legacy_tensors.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        scale = jnp.array([1.0, 2.0, 3.0], dtype=jnp.float32) + jnp.array([0.5], dtype=jnp.float32)
        picked = jnp.array([2, 0], dtype=int)
        return (self.linear(x) * scale)[:, picked][:, :2]
