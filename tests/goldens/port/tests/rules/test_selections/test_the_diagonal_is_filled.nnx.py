"""JAX port of Distances (rules/test_selections.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Distances(nnx.Module):
    """Distances (rules/test_selections.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        return jnp.fill_diagonal(h @ h.T, 0, inplace=False)
