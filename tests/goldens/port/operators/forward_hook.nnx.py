"""JAX port of ForwardHook (port_collection/operators.py), written by jaxgrad.port for torch 2.13.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class ForwardHook(nnx.Module):
    """ForwardHook (port_collection/operators.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return self.outer(jnp.tanh(doubled(self.inner(x))))


def doubled(out):
    """doubled (port_collection/operators.py:0)."""
    return out * 2
