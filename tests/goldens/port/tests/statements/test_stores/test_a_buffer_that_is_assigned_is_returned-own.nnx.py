"""JAX port of Running (statements/test_stores.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Running(nnx.Module):
    """A buffer that gets a new tensor in train mode, as the counts of a codebook do.

    Running (statements/test_stores.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.mean = nnx.BatchStat(jnp.zeros(4, jnp.float32))
        self.layer = Linear(4, 4, rngs=rngs)
        self.deterministic = False

    def __call__(self, x):
        if not self.deterministic:
            self.mean[...] = 0.9 * self.mean[...] + 0.1 * lax.stop_gradient(x).mean(axis=0)
        return self.layer(x - self.mean[...])
