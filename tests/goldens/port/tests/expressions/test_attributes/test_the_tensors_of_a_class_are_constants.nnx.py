"""JAX port of Staged (expressions/test_attributes.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Staged(nnx.Module):
    """Staged (expressions/test_attributes.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        x_2 = self.fc(x)
        x_3 = x_2
        return value(x_3)


def value(x):
    """Stages.value (expressions/test_attributes.py:0)."""
    return x * jnp.array([0.25, 0.75], dtype=jnp.float32)[1].astype(x.dtype) + jnp.array(
        0.5, dtype=jnp.float32
    ).astype(x.dtype)
