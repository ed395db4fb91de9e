"""JAX port of EachChunk (values/test_lengths.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class EachChunk(nnx.Module):
    """EachChunk (values/test_lengths.py:0).

    JAX unrolls `for part in x`, so compile time grows with the number of iterations; use
    lax.scan for long inputs.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        size = -(-x.shape[1] // 3)
        x = jnp.split(x, list(range(size, x.shape[1], size)), axis=1)
        return jnp.stack([self.linear(part).sum(axis=1) for part in x])
