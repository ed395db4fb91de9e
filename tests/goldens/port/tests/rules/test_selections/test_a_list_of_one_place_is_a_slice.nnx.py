"""JAX port of Columns (rules/test_selections.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Columns(nnx.Module):
    """Columns (rules/test_selections.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        return (
            h[..., -2:-1] * h[1:2]
            + h[:, -1:] * h[:, jnp.array([0, 2])].sum()
            + h[jnp.array([0]), jnp.array([1])]
        )

# ---- the next port of this test ----
"""JAX port of Columns (rules/test_selections.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Columns(nnx.Module):
    """Columns (rules/test_selections.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        return (
            h[..., -2:-1] * h[1:2]
            + h[:, -1:] * h[:, jnp.array([0, 2])].sum()
            + h[jnp.array([0]), jnp.array([1])]
        )
