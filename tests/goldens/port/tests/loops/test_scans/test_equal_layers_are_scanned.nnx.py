"""JAX port of Tower (loops/test_scans.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Dropout, Linear


class Tower(nnx.Module):
    """Tower (loops/test_scans.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.units = nnx.List([Dropped(rngs=rngs) for _ in range(2)])

    def __call__(self, x):
        # one unit after the other
        for unit in self.units:
            x = x + unit(x)
        return x


class Dropped(nnx.Module):
    """Dropped (loops/test_scans.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)
        self.drop = Dropout(0.1, rngs=rngs)

    def __call__(self, x):
        return self.drop(self.forward(x))

    def forward(self, x):
        return jnp.tanh(self.fc(x))

# ---- the next port of this test ----
"""JAX port of Tower (loops/test_scans.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Tower(nnx.Module):
    """Tower (loops/test_scans.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.units = nnx.List([Unit(rngs=rngs) for _ in range(3)])

    def __call__(self, x):
        # one unit after the other
        for unit in self.units:
            x = x + unit(x)
        return x


class Unit(nnx.Module):
    """Unit (loops/test_scans.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return jnp.tanh(self.fc(x))
