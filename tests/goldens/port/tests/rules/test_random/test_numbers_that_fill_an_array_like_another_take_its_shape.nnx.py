"""JAX port of Jitter (rules/test_random.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
from flax import nnx
from jaxgrad.nnx import Linear


class Jitter(nnx.Module):
    """Jitter (rules/test_random.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)
        self.rngs = rngs.dropout.fork()

    def __call__(self, x):
        uniform_rng = self.rngs()
        y = jax.random.uniform(uniform_rng, x.shape, x.dtype, minval=0.5, maxval=1.5)
        return self.fc(x * y)
