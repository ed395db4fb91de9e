"""JAX port of Summed (rules/test_creation.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Summed(nnx.Module):
    """Rows are added to zeros in their dtype, and ones have a dtype before the cast.

    Summed (rules/test_creation.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        rows = F.index_add(jnp.zeros((2, 4), dtype=h.dtype), 0, jnp.array([0, 1, 0]), h)
        return rows * jnp.ones((4,), dtype=jnp.int32).astype(h.dtype)

# ---- the next port of this test ----
"""JAX port of Summed (rules/test_creation.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Summed(nnx.Module):
    """Rows are added to zeros in their dtype, and ones have a dtype before the cast.

    Summed (rules/test_creation.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        rows = F.index_add(jnp.zeros((2, 4), dtype=h.dtype), 0, jnp.array([0, 1, 0]), h)
        return rows * jnp.ones((4,), dtype=jnp.int32).astype(h.dtype)
