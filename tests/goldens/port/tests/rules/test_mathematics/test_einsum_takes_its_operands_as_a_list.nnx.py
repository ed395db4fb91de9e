"""JAX port of Contracted (rules/test_mathematics.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Contracted(nnx.Module):
    """The operands of `einsum` are a list, as older programs write it.

    Contracted (rules/test_mathematics.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        return jnp.einsum("ni,mi->nm", h, x)
