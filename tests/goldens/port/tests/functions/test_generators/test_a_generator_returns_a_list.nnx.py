"""JAX port of Yields (functions/test_generators.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Yields(nnx.Module):
    """Yields (functions/test_generators.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return sum(self.pieces(x))

    def pieces(self, x):
        items = []
        for n in range(2):
            items.append(self.linear(x) * (n + 1))
        items.extend((x, jnp.tanh(self.linear(x))))
        return items

# ---- the next port of this test ----
"""JAX port of Yields (functions/test_generators.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Yields(nnx.Module):
    """Yields (functions/test_generators.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return sum(self.pieces(x))

    def pieces(self, x):
        items = []
        for n in range(2):
            items.append(self.linear(x) * (n + 1))
        items.extend((x, jnp.tanh(self.linear(x))))
        return items
