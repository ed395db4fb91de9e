"""JAX port of Stacks (nnx/test_submodules.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Stacks(nnx.Module):
    """Stacks (nnx/test_submodules.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Stack(rngs=rngs)
        self.second = Stack2(rngs=rngs)

    def __call__(self, x):
        return self.second(self.first(x))


class Stack(nnx.Module):
    """Its layers are all that it has.

    Stack (nnx/test_submodules.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.Sequential(Linear(4, 5, rngs=rngs), jax.nn.relu)

    def __call__(self, x):
        return self.layers(x) * 2


class Stack2(nnx.Module):
    """Its layers are all that it has.

    Stack (nnx/test_submodules.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.Sequential(Linear(5, 5, rngs=rngs), jnp.tanh, Linear(5, 2, rngs=rngs))

    def __call__(self, x):
        return self.layers(x) * 2
