"""JAX port of Statistics (nnx/test_state_maps.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- x.detach() shares the memory of x in torch; here it is a value of its own.
"""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Statistics(nnx.Module):
    """Statistics (nnx/test_state_maps.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.mean = nnx.BatchStat(jnp.zeros(3, jnp.float32))
        self.linear = Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        x = self.linear(x)
        self.keep(x)
        return x - self.mean[...]

    def keep(self, x):
        self.mean[...] = self.mean[...] * 0.9
        self.mean[...] = F.add(self.mean[...], lax.stop_gradient(x).mean(axis=0), alpha=0.1)
