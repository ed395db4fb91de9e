"""JAX port of Kind (port/test_leftovers.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- A parameter that only the branch not taken uses has the gradient None in torch. With lax.cond it
  has zeros, and an optimizer then updates its moments and decays it.
"""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import BatchNorm1d, Linear

F = functional.at("2.13")


class Kind(nnx.Module):
    """Kind (port/test_leftovers.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.mean = nnx.BatchStat(jnp.zeros(2, jnp.float32))
        self.zero = nnx.BatchStat(jnp.zeros((), jnp.float32))
        self.count = nnx.BatchStat(jnp.zeros((), int))
        self.ready = nnx.BatchStat(jnp.zeros((), bool))
        self.phase = nnx.BatchStat(jnp.ones(2, jnp.complex64))
        self.unsaved = nnx.Cache(jnp.zeros(2, jnp.float32))
        self.fc = Linear(3, 2, rngs=rngs)
        self.norm = BatchNorm1d(2)
        self.target = Linear(3, 2, rngs=rngs)

    def a_buffer_in_one_arm(self, x):
        y = self.fc(x)
        h = F.all(jnp.isfinite(y))
        self.zero[...] = lax.cond(h, lambda: self.zero[...] + 1, lambda: self.zero[...])
        return y
