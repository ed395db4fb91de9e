"""JAX port of Listed (values/test_params.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Listed(nnx.Module):
    """A tuple of module lists, one of which has no tensors.

    Listed (values/test_params.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(4, 4, rngs=rngs) for _ in range(2)])

    def __call__(self, x):
        parts = self.layers, self.joins
        for layer, join in [(parts[0][0], parts[1][0]), (parts[0][1], parts[1][1])]:
            x = jnp.tanh(layer(x))
        return x
