"""JAX port of Sizes (loops/test_scans.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Sizes(nnx.Module):
    """Sizes (loops/test_scans.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.units = nnx.List([Unit(out_features=4, rngs=rngs), Unit(out_features=6, rngs=rngs)])

    def __call__(self, x):
        total = 0
        for unit in self.units:
            total = total + unit(x).sum()
        return total


class Unit(nnx.Module):
    """Unit (loops/test_scans.py:0)."""

    def __init__(self, out_features, *, rngs: nnx.Rngs):
        self.fc = Linear(4, out_features, rngs=rngs)

    def __call__(self, x):
        return jnp.tanh(self.fc(x))
