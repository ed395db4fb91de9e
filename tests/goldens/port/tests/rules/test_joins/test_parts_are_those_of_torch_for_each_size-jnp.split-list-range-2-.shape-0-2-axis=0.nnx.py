"""JAX port of Parts (rules/test_joins.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Parts(nnx.Module):
    """Parts (rules/test_joins.py:0).

    JAX unrolls `for n, h in enumerate(function(self.fc(x)))`, so compile time grows with the
    number of iterations; use lax.scan for long inputs.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 6, rngs=rngs)

    def __call__(self, x):
        return jnp.concatenate([h * (n + 1) for n, h in enumerate(function(self.fc(x)))], axis=0)


def function(x):
    """<lambda> (rules/test_joins.py:0)."""
    return jnp.split(x, list(range(2, x.shape[0], 2)), axis=0)
