"""JAX port of Linear (torch.nn.modules.linear), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")


class Linear(nnx.Module):
    """torch.nn.Linear.

    `jaxgrad.nnx.load_state_dict` sets `weight` and `bias`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self):
        self.weight = nnx.Param(jnp.empty((2, 3), jnp.float32))
        self.bias = nnx.Param(jnp.empty(2, jnp.float32))

    def __call__(self, x):
        return F.linear(x, self.weight[...], self.bias[...])
