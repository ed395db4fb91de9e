"""JAX port of Expanded (statements/test_size_branches.py), written by jaxgrad.port for torch 2.13.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Expanded(nnx.Module):
    """Expanded (statements/test_size_branches.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x, positions):
        # one row for all samples
        if positions.shape[0] != x.shape[0]:
            # a view
            positions = jnp.broadcast_to(positions, (x.shape[0], *positions.shape[1:]))
        return self.linear(x) + jnp.concatenate([positions, positions], axis=0)[: x.shape[0]]
