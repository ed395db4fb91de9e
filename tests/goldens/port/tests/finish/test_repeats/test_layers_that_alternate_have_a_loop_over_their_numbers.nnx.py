"""JAX port of Alternating (finish/test_repeats.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Conv1d


class Alternating(nnx.Module):
    """Two kinds of layers, one after the other.

    Alternating (finish/test_repeats.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List(
            [
                Conv1d(4, 4, 1, rngs=rngs),
                Conv1d(4, 4, 3, padding=1, rngs=rngs),
                Conv1d(4, 4, 1, rngs=rngs),
                Conv1d(4, 4, 3, padding=1, rngs=rngs),
                Conv1d(4, 4, 1, rngs=rngs),
                Conv1d(4, 4, 3, padding=1, rngs=rngs),
            ]
        )

    def __call__(self, x):
        for layer in self.layers:
            x = x + layer(x)
            x = jnp.tanh(x)
        return x

# ---- the next port of this test ----
"""JAX port of Alternating (finish/test_repeats.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Conv1d


class Alternating(nnx.Module):
    """Two kinds of layers, one after the other.

    Alternating (finish/test_repeats.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List(
            [
                Conv1d(4, 4, 1, rngs=rngs),
                Conv1d(4, 4, 3, padding=1, rngs=rngs),
                Conv1d(4, 4, 1, rngs=rngs),
                Conv1d(4, 4, 3, padding=1, rngs=rngs),
                Conv1d(4, 4, 1, rngs=rngs),
                Conv1d(4, 4, 3, padding=1, rngs=rngs),
            ]
        )

    def __call__(self, x):
        for layer in self.layers:
            x = x + layer(x)
            x = jnp.tanh(x)
        return x
