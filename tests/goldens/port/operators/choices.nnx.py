"""JAX port of Choices (port_collection/operators.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Choices(nnx.Module):
    """Choices (port_collection/operators.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        h = self.inner(x)
        chosen = jnp.where(h < -1, -0.5, jnp.where(h > 0, h, h * 3))
        left, right = jnp.einsum("bi,bj->bij", h, chosen), F.sub(h, chosen, alpha=2)
        return self.outer(left.mean(axis=2) + F.maximum(right, h) @ h.T @ h)
