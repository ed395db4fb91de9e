"""JAX port of Plain (functions/test_context_managers.py), written by jaxgrad.port for torch 2.13.
"""

import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Plain(nnx.Module):
    """Plain (functions/test_context_managers.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layer = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return nested(self.layer(x))


def nested(h):
    """_nested (functions/test_context_managers.py:0)."""

    def autocast_region():
        mean = lax.stop_gradient(h.mean(axis=-1, keepdims=True))
        return mean

    mean = jaxgrad.autocast(autocast_region, jnp.bfloat16)()
    return h * mean
