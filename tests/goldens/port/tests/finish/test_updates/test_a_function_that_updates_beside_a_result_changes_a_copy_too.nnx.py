"""JAX port of Counting (finish/test_updates.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- A parameter that only the branch not taken uses has the gradient None in torch. With lax.cond it
  has zeros, and an optimizer then updates its moments and decays it.
"""

import jax.numpy as jnp
from flax import nnx
from jax import lax


class Counting(nnx.Module):
    """A buffer gets a value from a branch, beside the result of the branch.

    Counting (finish/test_updates.py:0).
    """

    def __init__(self):
        self.count = nnx.BatchStat(jnp.zeros((), jnp.float32))

    def __call__(self, x):
        def then(x):
            x = x * 2
            return x, self.count[...] + 1

        x, count = lax.cond(x.sum() > 0, then, lambda x: (x, self.count[...]), x)
        self.count[...] = count
        return x
