"""JAX port of Stacks (rules/test_joins.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Stacks(nnx.Module):
    """Stacks (rules/test_joins.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        wide, tall = jnp.hstack([h, x]), jnp.vstack((x, h))
        deep, columns = jnp.dstack([h, x]), jnp.column_stack([h[:, 0], x[:, 1]])
        return wide.sum(axis=1) @ tall[:3] + deep[:, :, 0] * columns[:, :1]

# ---- the next port of this test ----
"""JAX port of Stacks (rules/test_joins.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Stacks(nnx.Module):
    """Stacks (rules/test_joins.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        wide, tall = jnp.hstack([h, x]), jnp.vstack((x, h))
        deep, columns = jnp.dstack([h, x]), jnp.column_stack([h[:, 0], x[:, 1]])
        return wide.sum(axis=1) @ tall[:3] + deep[:, :, 0] * columns[:, :1]
