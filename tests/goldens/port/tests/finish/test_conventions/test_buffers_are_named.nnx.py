"""JAX port of Linear (torch.nn.modules.linear), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")


class Linear(nnx.Module):
    """torch.nn.Linear.

    `jaxgrad.nnx.load_state_dict` sets `weight` and `bias`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self):
        self.weight = nnx.Param(jnp.empty((2, 3), jnp.float32))
        self.bias = nnx.Param(jnp.empty(2, jnp.float32))

    def __call__(self, x):
        return F.linear(x, self.weight[...], self.bias[...])

# ---- the next port of this test ----
"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class Sequential(nnx.Module):
    """torch.nn.Sequential."""

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", BatchNorm1d(3))
        setattr(self, "1", Linear(3, 3, rngs=rngs))
        setattr(self, "2", BatchNorm1d(3))

    def __call__(self, x):
        for module in self:
            x = module(x)
        return x

    def __iter__(self):
        return (getattr(self, str(number)) for number in range(3))
