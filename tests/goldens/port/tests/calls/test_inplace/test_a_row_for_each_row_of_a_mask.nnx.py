"""JAX port of OnePerPlace (calls/test_inplace.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class OnePerPlace(nnx.Module):
    """The mask chooses rows, and each of them gets the same row.

    OnePerPlace (calls/test_inplace.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.first(x)
        h = jnp.where((x[:, 0] > 0)[..., None], h + self.second.weight[...][:1], h)
        h = jnp.where((x[:, 1] > 0)[..., None], self.second.bias[...], h)
        return h * 2

# ---- the next port of this test ----
"""JAX port of OnePerPlace (calls/test_inplace.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class OnePerPlace(nnx.Module):
    """The mask chooses rows, and each of them gets the same row.

    OnePerPlace (calls/test_inplace.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.first(x)
        h = jnp.where((x[:, 0] > 0)[..., None], h + self.second.weight[...][:1], h)
        h = jnp.where((x[:, 1] > 0)[..., None], self.second.bias[...], h)
        return h * 2
