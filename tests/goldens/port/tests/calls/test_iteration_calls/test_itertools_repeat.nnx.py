"""JAX port of Repeated (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- x.ndim == 2 (test_iteration_calls.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Repeated(nnx.Module):
    """Repeated (calls/test_iteration_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        assert x.ndim == 2, "this port holds for x.ndim == 2, as in the example"
        ones = [x.shape[0], 1]
        scaled = [x * 3.0, jnp.tanh(x) * 3.0]
        return self.linear(scaled[0] + scaled[1]) * jnp.ones(ones, dtype=x.dtype)
