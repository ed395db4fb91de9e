"""JAX port of Counts (statements/test_branches.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- A parameter that only the branch not taken uses has the gradient None in torch. With lax.cond it
  has zeros, and an optimizer then updates its moments and decays it.
"""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Counts(nnx.Module):
    """Counts (statements/test_branches.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.good = nnx.BatchStat(jnp.zeros((), jnp.float32))
        self.total = nnx.BatchStat(jnp.zeros(4, jnp.float32))
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return in_a_loop(self, self.fc(x))


def in_a_loop(module, h):
    """_in_a_loop (statements/test_branches.py:0)."""
    for _ in range(2):
        module.good[...] = lax.cond(
            h.sum() > 0, lambda: module.good[...] + 1, lambda: module.good[...]
        )
        h = h + 1
    return h
