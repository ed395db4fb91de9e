"""JAX port of Twins (port_collection/operators.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Twins(nnx.Module):
    """Twins (port_collection/operators.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.one = Linear(3, 3, rngs=rngs)
        self.two = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return self.two(jnp.tanh(self.one(x)))
