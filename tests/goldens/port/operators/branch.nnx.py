"""JAX port of Branch (port_collection/operators.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- A parameter that only the branch not taken uses has the gradient None in torch. With lax.cond it
  has zeros, and an optimizer then updates its moments and decays it.
"""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Branch(nnx.Module):
    """Branch (port_collection/operators.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        h = self.inner(x)

        def then(h):
            h = jnp.tanh(h)
            return h

        def otherwise(h):
            h = h * 3
            return h

        h = lax.cond(h.sum() > 0, then, otherwise, h)
        return self.outer(h)
