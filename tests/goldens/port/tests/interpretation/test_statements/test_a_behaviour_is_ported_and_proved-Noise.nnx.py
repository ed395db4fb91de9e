"""JAX port of Noise (interpretation/test_statements.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import Dropout, Linear


class Noise(nnx.Module):
    """Dropout and a draw in train mode.

    Noise (interpretation/test_statements.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.inp = Linear(4, 3, rngs=rngs)
        self.drop = Dropout(rngs=rngs)
        self.out = Linear(3, 2, rngs=rngs)
        self.rngs = rngs.dropout.fork()

    def __call__(self, x):
        h = self.drop(self.inp(x))
        normal_rng = self.rngs()
        return self.out(h + jax.random.normal(normal_rng, h.shape, h.dtype))
