"""JAX port of Chosen (rules/test_functional.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Chosen(nnx.Module):
    """Chosen (rules/test_functional.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        chosen = F.scatter(jnp.zeros_like(h), 1, h.argmax(axis=1, keepdims=True), 1)
        return h * chosen
