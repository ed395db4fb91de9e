"""JAX port of Positions (rules/test_creation.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Positions(nnx.Module):
    """Positions (rules/test_creation.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        y = F.gather(h, 1, jnp.array([[2], [0], [1]], dtype=int))
        return y * jnp.array([0.5], dtype=h.dtype)

# ---- the next port of this test ----
"""JAX port of Positions (rules/test_creation.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Positions(nnx.Module):
    """Positions (rules/test_creation.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        y = F.gather(h, 1, jnp.array([[2], [0], [1]], dtype=int))
        return y * jnp.array([0.5], dtype=h.dtype)
