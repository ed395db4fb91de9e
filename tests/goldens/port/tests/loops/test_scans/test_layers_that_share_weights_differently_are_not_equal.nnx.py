"""JAX port of Tower (loops/test_scans.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Tower(nnx.Module):
    """Tower (loops/test_scans.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.units = nnx.List([Pair(rngs=rngs), Pair2(rngs=rngs)])

    def __call__(self, x):
        # one unit after the other
        for unit in self.units:
            x = x + unit(x)
        return x


class Pair(nnx.Module):
    """Pair (loops/test_scans.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.a = Linear(4, 4, rngs=rngs)
        self.b = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return jnp.tanh(self.b(self.a(x)))


class Pair2(nnx.Module):
    """Pair (loops/test_scans.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.a = Linear(4, 4, rngs=rngs)
        self.b = Linear(4, 4, rngs=rngs)
        self.b.weight = self.a.weight  # tied

    def __call__(self, x):
        return jnp.tanh(self.b(self.a(x)))
