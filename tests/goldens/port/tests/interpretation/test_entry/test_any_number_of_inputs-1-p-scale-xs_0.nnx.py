"""JAX port of Sum (interpretation/test_entry.py), written by jaxgrad.port for torch 2.13.

Constants in the constructors are the values that the torch module had when this file was written;
  `jaxgrad.nnx.load_state_dict(model, state_dict)` loads others.
"""

import jax.numpy as jnp
from flax import nnx


class Sum(nnx.Module):
    """Add any number of inputs, each times a weight and a scale.

    Sum (interpretation/test_entry.py:0).
    """

    def __init__(self):
        self.weight = nnx.Param(jnp.array([0.5, -1.0, 2.0], jnp.float32))

    def __call__(self, scale, xs_0):
        return xs_0 * self.weight[...] * scale
