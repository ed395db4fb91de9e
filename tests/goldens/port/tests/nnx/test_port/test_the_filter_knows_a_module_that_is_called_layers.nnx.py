"""JAX port of Stack (nnx/test_port.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Stack(nnx.Module):
    """Stack (nnx/test_port.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(3, 3, rngs=rngs) for _ in range(2)])
        self.head = nnx.Sequential(Linear(3, 2, rngs=rngs), Linear(2, 1, rngs=rngs))

    def __call__(self, x):
        for layer in self.layers:
            x = jnp.tanh(layer(x))
        return self.head(x)
