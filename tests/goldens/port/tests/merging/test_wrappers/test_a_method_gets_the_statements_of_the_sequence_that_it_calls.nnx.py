"""JAX port of Net (merging/test_wrappers.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Net(nnx.Module):
    """Net (merging/test_wrappers.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.head = nnx.Sequential(Linear(3, 3, rngs=rngs), jnp.tanh)
        self.body = nnx.Sequential(
            Linear(3, 4, rngs=rngs), F.gelu, Linear(4, 3, rngs=rngs), jnp.tanh
        )

    def __call__(self, x):
        return self.encode(jax.nn.relu(self.head(x) * 1)) + jax.nn.relu(-x)

    def encode(self, x):
        return self.body(x)
