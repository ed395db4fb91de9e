"""JAX port of WithTotal (loops/test_scans.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class WithTotal(nnx.Module):
    """WithTotal (loops/test_scans.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.units = nnx.List([Unit(rngs=rngs) for _ in range(3)])

    def __call__(self, x):
        total = 0
        for unit in self.units:
            x = unit(x)
            total = total + (x**2).mean()
        return total


class Unit(nnx.Module):
    """Unit (loops/test_scans.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return jnp.tanh(self.fc(x))
