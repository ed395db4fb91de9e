"""JAX port of Checkpoint (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Checkpoint(nnx.Module):
    """Checkpoint (port_collection/behaviours.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        h = nnx.remat(lambda self, x: self.inner(x))(self, x)
        return self.outer(jnp.tanh(h))
