"""JAX port of Noisy (finish/test_signatures.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx


class Noisy(nnx.Module):
    """Noisy (finish/test_signatures.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.rngs = rngs.dropout.fork()

    def __call__(self, x):
        normal_rng = self.rngs()
        return x + jax.random.normal(normal_rng, x.shape, x.dtype)
