"""JAX port of Total (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Total(nnx.Module):
    """Total (calls/test_iteration_calls.py:0).

    JAX unrolls `for t in range(x.shape[1])`, so compile time grows with the number of
    iterations; use lax.scan for long inputs.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        total = 0.0
        for t in range(x.shape[1]):
            total = total + jnp.tanh(self.linear(x[:, t]))
        return total
