"""JAX port of Unit (interpretation/test_module_calls.py), written by jaxgrad.port for torch 2.13.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Unit(nnx.Module):
    """Has no `forward`, and torch runs no hooks of it.

    Unit (interpretation/test_module_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return jnp.tanh(self.fc(x))
