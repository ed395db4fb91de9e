"""JAX port of Statistics (interpretation/test_statements.py), written by jaxgrad.port for torch
  2.13.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class Statistics(nnx.Module):
    """Batch norm in train mode, in a loop and in a sequence.

    Statistics (interpretation/test_statements.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.units = nnx.List([nnx.Sequential(BatchNorm1d(4), jnp.tanh) for _ in range(2)])
        self.last = nnx.Sequential(Linear(4, 4, rngs=rngs), BatchNorm1d(4))

    def __call__(self, x):
        for unit in self.units:
            x = x + unit(x)
        return self.last(x)
