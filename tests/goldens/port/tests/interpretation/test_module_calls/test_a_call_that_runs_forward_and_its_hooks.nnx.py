"""JAX port of Doubled (interpretation/test_module_calls.py), written by jaxgrad.port for torch
  2.13.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")


class Doubled(nnx.Module):
    """Doubled (interpretation/test_module_calls.py:0).

    `jaxgrad.nnx.load_state_dict` sets `weight` and `bias`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self):
        self.weight = nnx.Param(jnp.empty((3, 4), jnp.float32))
        self.bias = nnx.Param(jnp.empty(3, jnp.float32))

    def __call__(self, x):
        return jnp.sin(F.linear(x, self.weight[...], self.bias[...])) * 2

# ---- the next port of this test ----
"""JAX port of Doubled (interpretation/test_module_calls.py), written by jaxgrad.port for torch
  2.13.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")


class Doubled(nnx.Module):
    """Doubled (interpretation/test_module_calls.py:0).

    `jaxgrad.nnx.load_state_dict` sets `weight` and `bias`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self):
        self.weight = nnx.Param(jnp.empty((3, 4), jnp.float32))
        self.bias = nnx.Param(jnp.empty(3, jnp.float32))

    def __call__(self, x):
        return jnp.sin(F.linear(x, self.weight[...], self.bias[...])) * 2
