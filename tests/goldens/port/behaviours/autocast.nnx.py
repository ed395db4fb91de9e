"""JAX port of Autocast (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jaxgrad.nnx import Linear


class Autocast(nnx.Module):
    """Autocast (port_collection/behaviours.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        def autocast_region():
            h = self.inner(x)
            return h

        h = jaxgrad.autocast(autocast_region, jnp.bfloat16)()
        return self.outer(jnp.tanh(h.astype(x.dtype)))
