"""JAX port of Unchanged (rules/test_table.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Dropout, Linear


class Unchanged(nnx.Module):
    """Calls operators that return their argument as it is.

    Unchanged (rules/test_table.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.body = nnx.Sequential(Linear(4, 4, rngs=rngs), jnp.tanh)
        self.drop = Dropout(0.0, rngs=rngs)

    def __call__(self, x):
        return self.drop(self.body(x))
