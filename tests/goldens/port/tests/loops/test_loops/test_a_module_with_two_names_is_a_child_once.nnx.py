"""JAX port of Children (loops/test_loops.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Children(nnx.Module):
    """Children (loops/test_loops.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.last = Linear(4, 4, rngs=rngs)
        self.again = self.first  # tied

    def __call__(self, x):
        x = jnp.tanh(self.first(x))
        return jnp.tanh(self.last(x))
