"""JAX port of Buffer (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- x.detach() shares the memory of x in torch; here it is a value of its own.
"""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Buffer(nnx.Module):
    """Buffer (port_collection/behaviours.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.average = nnx.BatchStat(jnp.zeros(4, jnp.float32))
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)
        self.deterministic = False

    def __call__(self, x):
        h = self.inner(x)
        if not self.deterministic:
            self.average[...] = self.average[...] * 0.9
            self.average[...] = self.average[...] + 0.1 * lax.stop_gradient(h).mean(axis=0)
        return self.outer(h - self.average[...])
