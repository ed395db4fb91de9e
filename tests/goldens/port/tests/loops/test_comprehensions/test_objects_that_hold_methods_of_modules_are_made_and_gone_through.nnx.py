"""JAX port of Flow (loops/test_comprehensions.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Flow(nnx.Module):
    """Flow (loops/test_comprehensions.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Conditioner(rngs=rngs) for _ in range(2)])

    def __call__(self, x):
        x = apply(self.layers[0], x)
        return apply(self.layers[1], x)


class Conditioner(nnx.Module):
    """Conditioner (loops/test_comprehensions.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def scale(self, x):
        return jnp.tanh(self.fc(x))


def apply(function, x):
    """Lazy.apply (loops/test_comprehensions.py:0)."""
    return x * function.scale(x)
