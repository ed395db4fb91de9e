"""JAX port of Listed (finish/test_updates.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm1d


class Listed(nnx.Module):
    """The layers of a list, in an order that no loop of the port has.

    Listed (finish/test_updates.py:0).
    """

    def __init__(self):
        self.layers = nnx.List([BatchNorm1d(3) for _ in range(2)])

    def __call__(self, x):
        return self.layers[1](jnp.sin(self.layers[0](x)))
