"""JAX port of Normed (expressions/test_indexing.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class Normed(nnx.Module):
    """A loop's counter reaches a layer whose buffers change in train mode.

    Normed (expressions/test_indexing.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List(
            [nnx.Sequential(Linear(4, 4, rngs=rngs), BatchNorm1d(4)) for _ in range(2)]
        )

    def __call__(self, x):
        found = []
        for n in range(2):
            x = self.layers[n](x)
            found.append(jnp.tanh(x))
        return sum(found)

# ---- the next port of this test ----
"""JAX port of Normed (expressions/test_indexing.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class Normed(nnx.Module):
    """A loop's counter reaches a layer whose buffers change in train mode.

    Normed (expressions/test_indexing.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List(
            [nnx.Sequential(Linear(4, 4, rngs=rngs), BatchNorm1d(4)) for _ in range(2)]
        )

    def __call__(self, x):
        found = []
        for n in range(2):
            x = self.layers[n](x)
            found.append(jnp.tanh(x))
        return sum(found)

# ---- the next port of this test ----
"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Sequential(nnx.Module):
    """torch.nn.Sequential."""

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", Linear(4, 4, rngs=rngs))

    def __call__(self, x):
        return getattr(self, "0")(x)
