"""JAX port of Tower (loops/test_scans.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Tower(nnx.Module):
    """Tower (loops/test_scans.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.units = nnx.List([Unit(rngs=rngs)])

    def __call__(self, x):
        # one unit after the other
        return x + self.units[0](x)


class Unit(nnx.Module):
    """Unit (loops/test_scans.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return jnp.tanh(self.fc(x))
