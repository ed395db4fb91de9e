"""JAX port of Norms (nnx/test_submodules.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import BatchNorm1d, GroupNorm, Linear


class Norms(nnx.Module):
    """Norms (nnx/test_submodules.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Normed(in_features=4, norm=BatchNorm1d(6), rngs=rngs)
        self.second = Normed(in_features=6, norm=GroupNorm(2, 6), rngs=rngs)

    def __call__(self, x):
        return self.second(self.first(x))


class Normed(nnx.Module):
    """The norm is of one of two kinds.

    Normed (nnx/test_submodules.py:0).
    """

    def __init__(self, in_features, norm, *, rngs: nnx.Rngs):
        self.lin = Linear(in_features, 6, rngs=rngs)
        self.norm = norm

    def __call__(self, x):
        return jax.nn.relu(self.norm(self.lin(x)))
