"""JAX port of Nested (functions/test_closures.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Nested(nnx.Module):
    """Calls nested functions, one of which reads its argument several times.

    Nested (functions/test_closures.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.query = Linear(4, 4, rngs=rngs)
        self.key = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        y = self.query(x)
        y_2 = jnp.flip(self.key(x), axis=0)
        h = y_2.reshape(y_2.shape[0], y_2.shape[1], 2, 2)
        return y.reshape(y.shape[0], y.shape[1], 2, 2) * h
