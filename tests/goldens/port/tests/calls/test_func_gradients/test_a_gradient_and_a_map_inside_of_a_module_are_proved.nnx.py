"""JAX port of PerSample (calls/test_func_gradients.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class PerSample(nnx.Module):
    """PerSample (calls/test_func_gradients.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, dtype=jnp.float64, rngs=rngs)
        self.second = Linear(4, 4, dtype=jnp.float64, rngs=rngs)

    def __call__(self, x):
        return self.second(jax.vmap(jax.grad(lambda x_2: self.energy(x_2)))(x))

    def energy(self, v):
        return jnp.tanh(self.first(v)).sum()
