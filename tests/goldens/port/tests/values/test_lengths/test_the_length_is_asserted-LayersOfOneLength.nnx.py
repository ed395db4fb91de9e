"""JAX port of LayersOfOneLength (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- the loop runs 4 times (test_lengths.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class LayersOfOneLength(nnx.Module):
    """LayersOfOneLength (values/test_lengths.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List(
            [Linear(4, 4, rngs=rngs), None, Linear(4, 4, bias=False, rngs=rngs), None, None]
        )

    def __call__(self, x):
        assert len(jnp.unstack(x, axis=1)) == 4, (
            "this port holds for a loop that runs 4 times, as in the example"
        )
        parts = jnp.unstack(x, axis=1)
        y = 0 + self.layers[0](parts[0])
        y = y + jnp.tanh(parts[1])
        y = y + self.layers[2](parts[2])
        return y + parts[3]
