"""JAX port of StarArguments (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- len(parts) == 4 (test_lengths.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class StarArguments(nnx.Module):
    """StarArguments (values/test_lengths.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        parts = jnp.unstack(x, axis=1)
        assert len(parts) == 4, "this port holds for 4 elements, as in the example"
        return self._first(parts[0])

    def _first(self, first):
        return self.linear(first) * 3
