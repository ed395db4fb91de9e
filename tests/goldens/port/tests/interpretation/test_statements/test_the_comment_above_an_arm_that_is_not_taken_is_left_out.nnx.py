"""JAX port of Described (interpretation/test_statements.py), written by jaxgrad.port for torch
  2.13.
"""

import jax.numpy as jnp
from flax import nnx


class Described(nnx.Module):
    """Described (interpretation/test_statements.py:0)."""

    def __call__(self, x):
        # it is squared
        x = x * x
        # without a scale
        return jnp.tanh(x)
