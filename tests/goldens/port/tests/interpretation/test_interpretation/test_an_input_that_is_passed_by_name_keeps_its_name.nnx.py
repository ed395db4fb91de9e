"""JAX port of Passes (interpretation/test_interpretation.py), written by jaxgrad.port for torch
  2.13.
"""

import jax.numpy as jnp
from flax import nnx


class Passes(nnx.Module):
    """Passes (interpretation/test_interpretation.py:0)."""

    def __init__(self):
        self.inner = Scaled()

    def work(self, x):
        x_2 = jnp.sin(self.inner(x * 2))
        return x_2 * x + x_2


class Scaled(nnx.Module):
    """Scaled (interpretation/test_interpretation.py:0).

    `jaxgrad.nnx.load_state_dict` sets `weight`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self):
        self.weight = nnx.Param(jnp.empty((3, 3), jnp.float32))

    def __call__(self, image):
        scaled = image * 2
        return jnp.tanh(scaled @ self.weight[...])
