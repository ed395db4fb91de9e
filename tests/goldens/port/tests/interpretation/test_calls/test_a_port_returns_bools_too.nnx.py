"""JAX port of Flagged (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Flagged(nnx.Module):
    """Returns bools beside its values.

    Flagged (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        y = self.second(jnp.tanh(self.first(x)))
        return y, y > 0, F.any(y > 5)

# ---- the next port of this test ----
"""JAX port of Flagged (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Flagged(nnx.Module):
    """Returns bools beside its values.

    Flagged (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        y = self.second(jnp.tanh(self.first(x)))
        return y, y > 0, F.any(y > 5)
