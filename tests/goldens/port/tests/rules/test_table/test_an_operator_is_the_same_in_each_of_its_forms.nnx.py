"""JAX port of Each (rules/test_table.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Each(nnx.Module):
    """Calls operators as functions, as methods and in place.

    Each (rules/test_table.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = jax.nn.relu(self.linear(jnp.roll(x, 1, axis=-1)))
        gelu = F.gelu(h.swapaxes(1, 2))
        return gelu.reshape(gelu.shape[0], -1).sum(axis=-1)
