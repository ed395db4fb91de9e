"""JAX port of Net (finish/test_distinct.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Net(nnx.Module):
    """Net (finish/test_distinct.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.encoder = Cell(rngs=rngs)
        self.decoder = Cell2(rngs=rngs)

    def __call__(self, x):
        return self.step(self.decoder.step(self.encoder.step(x)))

    def step(self, x):
        return x * 2


class Cell(nnx.Module):
    """Cell (finish/test_distinct.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(3, 3, rngs=rngs)])

    def step(self, x):
        return jnp.tanh(self.layers[0](x))


class Cell2(nnx.Module):
    """Cell (finish/test_distinct.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(3, 3, rngs=rngs) for _ in range(2)])

    def step(self, x):
        x = jnp.tanh(self.layers[0](x))
        return jax.nn.sigmoid(self.layers[1](x))

# ---- the next port of this test ----
"""JAX port of Net (finish/test_distinct.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Net(nnx.Module):
    """Net (finish/test_distinct.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.encoder = Cell(rngs=rngs)
        self.decoder = Cell2(rngs=rngs)

    def __call__(self, x):
        return self.step(self.decoder.step(self.encoder.step(x)))

    def step(self, x):
        return x * 2


class Cell(nnx.Module):
    """Cell (finish/test_distinct.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(3, 3, rngs=rngs)])

    def step(self, x):
        return jnp.tanh(self.layers[0](x))


class Cell2(nnx.Module):
    """Cell (finish/test_distinct.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(3, 3, rngs=rngs) for _ in range(2)])

    def step(self, x):
        x = jnp.tanh(self.layers[0](x))
        return jax.nn.sigmoid(self.layers[1](x))
