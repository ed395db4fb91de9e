"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Sequential(nnx.Module):
    """torch.nn.Sequential."""

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", Unit(rngs=rngs))
        setattr(self, "1", Doubled())

    def __call__(self, x):
        x = getattr(self, "0")(x)
        return getattr(self, "1")(x)


class Unit(nnx.Module):
    """Has no `forward`, and torch runs no hooks of it.

    Unit (interpretation/test_module_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return jnp.tanh(self.fc(x))


class Doubled(nnx.Module):
    """Doubled (interpretation/test_module_calls.py:0).

    `jaxgrad.nnx.load_state_dict` sets `weight` and `bias`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self):
        self.weight = nnx.Param(jnp.empty((3, 4), jnp.float32))
        self.bias = nnx.Param(jnp.empty(3, jnp.float32))

    def __call__(self, x):
        return F.linear(x, self.weight[...], self.bias[...]) * 2
