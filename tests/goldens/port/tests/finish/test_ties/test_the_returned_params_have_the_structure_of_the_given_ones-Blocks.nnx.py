"""JAX port of Blocks (finish/test_ties.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class Blocks(nnx.Module):
    """A weight that the first layer shares with each block of a list, beside untied parameters.

    Blocks (finish/test_ties.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(3, 3, rngs=rngs)
        self.blocks = nnx.List([Block(rngs=rngs) for _ in range(2)])
        self.blocks[0].fc.weight = self.first.weight  # tied
        self.blocks[1].fc.weight = self.first.weight  # tied

    def __call__(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return x


class Block(nnx.Module):
    """Block (finish/test_ties.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)
        self.norm = BatchNorm1d(3)

    def __call__(self, x):
        return self.norm(jnp.tanh(self.fc(x)))
