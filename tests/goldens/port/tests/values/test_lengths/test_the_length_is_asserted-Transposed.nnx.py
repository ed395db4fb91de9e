"""JAX port of Transposed (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- the loop runs 4 times (test_lengths.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Transposed(nnx.Module):
    """Transposed (values/test_lengths.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        assert len(jnp.unstack(x, axis=1)) == 4, (
            "this port holds for a loop that runs 4 times, as in the example"
        )
        pairs = [
            (self.linear(jnp.unstack(x, axis=1)[0]), jnp.unstack(x, axis=1)[0] * 2),
            (self.linear(jnp.unstack(x, axis=1)[1]), jnp.unstack(x, axis=1)[1] * 2),
            (self.linear(jnp.unstack(x, axis=1)[2]), jnp.unstack(x, axis=1)[2] * 2),
            (self.linear(jnp.unstack(x, axis=1)[3]), jnp.unstack(x, axis=1)[3] * 2),
        ]
        left, right = zip(*pairs, strict=True)
        return left[0] * 4
