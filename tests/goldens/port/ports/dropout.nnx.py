"""JAX port of Block (ports/dropout.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Dropout, Linear

F = functional.at("2.13")


class Block(nnx.Module):
    """Block (ports/dropout.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.up = Linear(4, 5, dtype=jnp.float64, rngs=rngs)
        self.drop = Dropout(0.3, rngs=rngs)
        self.down = Linear(5, 4, dtype=jnp.float64, rngs=rngs)
        self.out_drop = Dropout(rngs=rngs)

    def __call__(self, x):
        h = self.drop(F.gelu(self.up(x)))
        return x + self.out_drop(self.down(h))
