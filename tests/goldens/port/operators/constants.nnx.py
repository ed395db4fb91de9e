"""JAX port of Constants (port_collection/operators.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Constants(nnx.Module):
    """Two parts that differ in a constant alone.

    Constants (port_collection/operators.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.small = Scaled(factor=0.5, rngs=rngs)
        self.large = Scaled(factor=2.0, rngs=rngs)

    def __call__(self, x):
        return self.large(self.small(x))


class Scaled(nnx.Module):
    """Scaled (port_collection/operators.py:0)."""

    def __init__(self, factor, *, rngs: nnx.Rngs):
        self.factor = factor
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return jnp.tanh(self.linear(x) * self.factor) + x
