"""JAX port of Filtered (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- t % 2 == 0 (test_iteration_calls.py:0)
- t % 2 != 0 (test_iteration_calls.py:0)
- the loop runs 3 times (test_iteration_calls.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Filtered(nnx.Module):
    """Filtered (calls/test_iteration_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        assert len(range(x.shape[1])) == 3, (
            "this port holds for a loop that runs 3 times, as in the example"
        )
        parts = [self.linear(x[:, 0]) * 0, self.linear(x[:, 2]) * 2]
        return jnp.stack(parts).sum(axis=0)

# ---- the next port of this test ----
"""JAX port of Filtered (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- t % 2 == 0 (test_iteration_calls.py:0)
- t % 2 != 0 (test_iteration_calls.py:0)
- the loop runs 3 times (test_iteration_calls.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Filtered(nnx.Module):
    """Filtered (calls/test_iteration_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        assert len(range(x.shape[1])) == 3, (
            "this port holds for a loop that runs 3 times, as in the example"
        )
        parts = [self.linear(x[:, 0]) * 0, self.linear(x[:, 2]) * 2]
        return jnp.stack(parts).sum(axis=0)
