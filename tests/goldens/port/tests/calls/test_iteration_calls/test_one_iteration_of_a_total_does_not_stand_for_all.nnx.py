"""JAX port of Total (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- the loop runs 1 times (test_iteration_calls.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Total(nnx.Module):
    """Total (calls/test_iteration_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        assert len(range(x.shape[1])) == 1, (
            "this port holds for a loop that runs once, as in the example"
        )
        return 0.0 + jnp.tanh(self.linear(x[:, 0]))
