"""JAX port of Counted (proof/test_ported.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")


class Counted(nnx.Module):
    """It scales rows by an integer with a bound, such as a degree.

    Counted (proof/test_ported.py:0).

    `jaxgrad.nnx.load_state_dict` sets `weight` and `bias`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self):
        self.weight = nnx.Param(jnp.empty((2, 3), jnp.float32))
        self.bias = nnx.Param(jnp.empty(2, jnp.float32))

    def __call__(self, x, count):
        return F.linear(x, self.weight[...], self.bias[...]) * jnp.clip(count, max=1)[:, None]
