"""JAX port of Both (merging/test_branch_tests.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Both(nnx.Module):
    """Both (merging/test_branch_tests.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Halved(rngs=rngs), Halved2(rngs=rngs)])

    def __call__(self, x):
        x = self.layers[0](x)
        return self.layers[1](x)


class Halved(nnx.Module):
    """A method that reads no weight, and asks whether there is a layer.

    Halved (merging/test_branch_tests.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.body = Linear(4, 4, rngs=rngs)
        self.down = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        x = self.body(self.size(x))
        return self.down(x)

    def size(self, x):
        y, width = jnp.exp(jnp.sin(x)), x.shape[0]
        return jnp.cos(y) * width


class Halved2(nnx.Module):
    """A method that reads no weight, and asks whether there is a layer.

    Halved (merging/test_branch_tests.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.body = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return self.body(self.size(x))

    def size(self, x):
        y = x
        return jnp.cos(y) * 4
