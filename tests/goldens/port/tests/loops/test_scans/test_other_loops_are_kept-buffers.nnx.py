"""JAX port of Tower (loops/test_scans.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm1d


class Tower(nnx.Module):
    """Tower (loops/test_scans.py:0)."""

    def __init__(self):
        self.units = nnx.List([Normed() for _ in range(2)])

    def __call__(self, x):
        # one unit after the other
        for unit in self.units:
            x = x + unit(x)
        return x


class Normed(nnx.Module):
    """Normed (loops/test_scans.py:0)."""

    def __init__(self):
        self.norm = BatchNorm1d(4)

    def __call__(self, x):
        return jnp.tanh(self.norm(x))
