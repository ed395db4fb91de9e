"""JAX port of Net (nnx/test_submodules.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Net(nnx.Module):
    """Net (nnx/test_submodules.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Residual(in_features=4, skip=Linear(4, 5, rngs=rngs), rngs=rngs)
        self.second = Residual(in_features=5, rngs=rngs)

    def __call__(self, x):
        return self.second(self.first(x))


class Residual(nnx.Module):
    """The skip connection is a layer if the sizes differ, and else nothing.

    Residual (nnx/test_submodules.py:0).
    """

    def __init__(self, in_features, skip=nnx.identity, *, rngs: nnx.Rngs):
        self.lin = Linear(in_features, 5, rngs=rngs)
        self.skip = skip

    def __call__(self, x):
        shortcut = self.skip(x)
        return jnp.tanh(self.lin(x)) + shortcut
