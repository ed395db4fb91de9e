"""JAX port of Halves (finish/test_layers.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")


class Halves(nnx.Module):
    """One layer whose weight and bias are in two modules.

    Halves (finish/test_layers.py:0).
    """

    def __init__(self):
        self.a = Module()
        self.b = Module2()

    def __call__(self, x):
        return F.linear(x, self.a.weight[...], self.b.bias[...])


class Module(nnx.Module):
    """torch.nn.Module."""

    def __init__(self):
        self.weight = nnx.Param(jnp.ones((4, 4), jnp.float32))


class Module2(nnx.Module):
    """torch.nn.Module."""

    def __init__(self):
        self.bias = nnx.Param(jnp.ones(4, jnp.float32))
