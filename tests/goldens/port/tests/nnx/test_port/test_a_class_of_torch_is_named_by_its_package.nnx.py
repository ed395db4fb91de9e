"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")


class Sequential(nnx.Module):
    """torch.nn.Sequential."""

    def __init__(self):
        setattr(self, "0", ParametrizedLinear())

    def __call__(self, x):
        y = getattr(getattr(self, "0").parametrizations["weight"], "0")(
            getattr(self, "0").parametrizations["weight"].original[...]
        )
        x = F.linear(x, y, getattr(self, "0").bias[...])
        return jnp.tanh(x)


class ParametrizedLinear(nnx.Module):
    """torch.nn.utils.parametrize.ParametrizedLinear.

    `jaxgrad.nnx.load_state_dict` sets `bias`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self):
        self.bias = nnx.Param(jnp.empty(3, jnp.float32))
        self.parametrizations = nnx.Dict({"weight": ParametrizationList()})


class ParametrizationList(nnx.Module):
    """torch.nn.utils.parametrize.ParametrizationList.

    `jaxgrad.nnx.load_state_dict` sets `original`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self):
        self.original = nnx.Param(jnp.empty((3, 3), jnp.float32))
        setattr(self, "0", Doubled())


class Doubled(nnx.Module):
    """Doubled (nnx/test_port.py:0)."""

    def __call__(self, weight):
        return weight * 2
