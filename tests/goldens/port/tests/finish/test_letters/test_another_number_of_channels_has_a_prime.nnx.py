"""JAX port of Skips (finish/test_letters.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Conv2d


class Skips(nnx.Module):
    """Skips (finish/test_letters.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.a = Conv2d(3, 5, 1, rngs=rngs)
        self.b = Conv2d(5, 3, 1, rngs=rngs)

    def __call__(self, x):
        y = self.a(x)
        return self.join(y, x).sum() + self.join(x, y[:, 1:]).sum()

    def join(self, x, skip):
        return jnp.concatenate([jnp.sin(x), skip], axis=1)
