"""JAX port of WithMemory (loops/test_scans.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class WithMemory(nnx.Module):
    """WithMemory (loops/test_scans.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.units = nnx.List([Unit(rngs=rngs) for _ in range(3)])

    def __call__(self, x):
        x = self.units[0](x)
        memory = x
        x = self.units[1](x) + memory
        memory = x
        x = self.units[2](x) + memory
        memory = x
        return x


class Unit(nnx.Module):
    """Unit (loops/test_scans.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return jnp.tanh(self.fc(x))
