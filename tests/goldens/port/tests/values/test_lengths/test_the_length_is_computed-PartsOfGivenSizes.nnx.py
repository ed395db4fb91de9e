"""JAX port of PartsOfGivenSizes (values/test_lengths.py), written by jaxgrad.port for torch 2.13.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class PartsOfGivenSizes(nnx.Module):
    """PartsOfGivenSizes (values/test_lengths.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        half = x.shape[1] // 2
        a, b = jnp.split(x, [half], axis=1)
        return self.linear(a).sum(axis=1) + b.mean(axis=1)
