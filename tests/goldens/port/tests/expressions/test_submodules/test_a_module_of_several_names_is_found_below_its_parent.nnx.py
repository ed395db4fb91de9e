"""JAX port of Twice (expressions/test_submodules.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Twice(nnx.Module):
    """Twice (expressions/test_submodules.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Run(rngs=rngs)
        self.second = Run(rngs=rngs)

    def __call__(self, x):
        return self.second(self.first(x))


class Run(nnx.Module):
    """One activation has two names.

    Run (expressions/test_submodules.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", Linear(4, 4, rngs=rngs))
        setattr(self, "2", Linear(4, 4, rngs=rngs))

    def __call__(self, x):
        x = getattr(self, "0")(x)
        x = jnp.tanh(x)
        x = getattr(self, "2")(x)
        return jnp.tanh(x)
