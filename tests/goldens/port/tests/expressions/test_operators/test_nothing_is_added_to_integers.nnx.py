"""JAX port of Positions (expressions/test_operators.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Embedding


class Positions(nnx.Module):
    """Positions (expressions/test_operators.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.embed = Embedding(9, 4, rngs=rngs)

    def __call__(self, x):
        at = jnp.arange(x.shape[1])
        return x * (self.embed(at) + 0)

# ---- the next port of this test ----
"""JAX port of Positions (expressions/test_operators.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Embedding


class Positions(nnx.Module):
    """Positions (expressions/test_operators.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.embed = Embedding(9, 4, rngs=rngs)

    def __call__(self, x):
        at = jnp.arange(x.shape[1])
        return x * (self.embed(at) + 0)
