"""JAX port of Tower (nnx/test_port.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import BatchNorm1d, Linear

F = functional.at("2.13")


class Tower(nnx.Module):
    """Tower (nnx/test_port.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.units = nnx.List([Unit(in_features=3, rngs=rngs) for _ in range(2)])
        self.wide = nnx.Sequential(
            Linear(3, 4, rngs=rngs),
            jax.nn.relu,
            Unit(in_features=4, rngs=rngs),
            lambda x: F.gelu(x, approximate="tanh"),
        )
        self.head = Linear(3, 4, rngs=rngs)
        self.out = Linear(4, 3, bias=False, rngs=rngs)
        self.left_over = Linear(2, 2, rngs=rngs)

    def __call__(self, x):
        for unit in self.units:
            x = unit(x)
        return self.out(self.wide(x) + self.head(x))


class Unit(nnx.Module):
    """Unit (nnx/test_port.py:0)."""

    def __init__(self, in_features, *, rngs: nnx.Rngs):
        self.fc = Linear(in_features, in_features, rngs=rngs)
        self.norm = BatchNorm1d(in_features)

    def __call__(self, x):
        # half of the residual branch
        return x + 0.5 * jnp.tanh(self.norm(self.fc(x)))
