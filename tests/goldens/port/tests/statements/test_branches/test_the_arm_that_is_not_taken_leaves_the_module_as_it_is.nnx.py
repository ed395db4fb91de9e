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
        return returns(self, self.fc(x))


def returns(module, h):
    """_returns (statements/test_branches.py:0)."""
    out, good = lax.cond(
        h.sum() > 100, lambda: (h * 2, module.good[...] + 1), lambda: (h, module.good[...])
    )
    module.good[...] = good
    return out
