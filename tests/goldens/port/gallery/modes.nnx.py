"""JAX port of Tower (models/modes.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import BatchNorm2d, Conv2d, Dropout, Linear


class Tower(nnx.Module):
    """Tower (models/modes.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.units = nnx.List([Unit(rngs=rngs) for _ in range(3)])
        self.head = Linear(2, 5, rngs=rngs)

    def __call__(self, x):
        for unit in self.units:
            x = unit(x)
        return self.head(x.mean(axis=(2, 3)))


class Unit(nnx.Module):
    """Unit (models/modes.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.conv = Conv2d(2, 2, 3, padding=1, bias=False, rngs=rngs)
        self.norm = BatchNorm2d(2)
        self.drop = Dropout(0.1, rngs=rngs)

    def __call__(self, x):
        return x + self.drop(jax.nn.relu(self.norm(self.conv(x))))
