"""JAX port of Region (interpretation/test_statements.py), written by jaxgrad.port for torch 2.13.
"""

import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jaxgrad.nnx import Linear


class Region(nnx.Module):
    """A region under autocast.

    Region (interpretation/test_statements.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.a = Linear(4, 4, rngs=rngs)
        self.b = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        def autocast_region():
            h = self.a(x)
            return h

        h = jaxgrad.autocast(autocast_region, jnp.bfloat16)()
        return self.b(h.astype(x.dtype))
