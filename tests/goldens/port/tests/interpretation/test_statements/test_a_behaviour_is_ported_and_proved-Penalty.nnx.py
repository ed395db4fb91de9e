"""JAX port of Penalty (interpretation/test_statements.py), written by jaxgrad.port for torch 2.13.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Penalty(nnx.Module):
    """A gradient inside of the module.

    Penalty (interpretation/test_statements.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.score = nnx.Sequential(Linear(4, 3, rngs=rngs), jnp.tanh, Linear(3, 1, rngs=rngs))

    def __call__(self, x):
        x = lax.stop_gradient(x)
        score = self.score(x)
        ones = jnp.ones_like(score)

        def value(x):
            score = self.score(x)
            return score

        (slope,) = jax.vjp(value, x)[1](ones)
        return score.mean() + ((F.norm(slope, dim=1) - 1) ** 2).mean()
