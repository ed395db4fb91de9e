"""JAX port of Net (ports/training.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import LayerNorm, Linear


class Net(nnx.Module):
    """Net (ports/training.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, dtype=jnp.float64, rngs=rngs)
        self.norm = LayerNorm(4, dtype=jnp.float64)
        self.outer = Linear(4, 1, dtype=jnp.float64, rngs=rngs)

    def __call__(self, x):
        return self.outer(jnp.tanh(self.norm(self.inner(x)))).squeeze(axis=-1)
