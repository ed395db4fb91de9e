"""JAX port of Wrong (test_a_port_that_is_not_proved0/mymodel.py), written by jaxgrad.port for torch
  2.13.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")


class Wrong(nnx.Module):
    """Wrong (test_a_port_that_is_not_proved0/mymodel.py:0).

    `jaxgrad.nnx.load_state_dict` sets `weight` and `bias`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self):
        self.weight = nnx.Param(jnp.empty((2, 3), jnp.float32))
        self.bias = nnx.Param(jnp.empty(2, jnp.float32))

    def __call__(self, x):
        return jnp.sin(F.linear(x, self.weight[...]))
