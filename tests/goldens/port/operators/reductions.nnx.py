"""JAX port of Reductions (port_collection/operators.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Reductions(nnx.Module):
    """Reductions (port_collection/operators.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        h = self.inner(x)
        weights = jax.nn.softmax(h, axis=0) + jax.nn.log_softmax(h, axis=-1) * 0.1
        centred = h - h.mean(axis=0, keepdims=True) + h.sum(axis=1, keepdims=True)
        return self.outer(weights * jnp.cumsum(centred, axis=1) ** 3)
