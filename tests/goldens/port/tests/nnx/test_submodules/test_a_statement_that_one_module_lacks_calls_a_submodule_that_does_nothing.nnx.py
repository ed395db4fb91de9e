"""JAX port of Mixed (nnx/test_submodules.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import LayerNorm, Linear


class Mixed(nnx.Module):
    """Mixed (nnx/test_submodules.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Gated(in_features=4, rngs=rngs)
        self.second = Gated(in_features=5, norm=LayerNorm(5), rngs=rngs)

    def __call__(self, x):
        return self.second(self.first(x))


class Gated(nnx.Module):
    """A statement of its own calls the submodule.

    Gated (nnx/test_submodules.py:0).
    """

    def __init__(self, in_features, norm=nnx.identity, *, rngs: nnx.Rngs):
        self.lin = Linear(in_features, 5, rngs=rngs)
        self.norm = norm

    def __call__(self, x):
        x = self.lin(x)
        x = self.norm(x)
        return jax.nn.sigmoid(x)
