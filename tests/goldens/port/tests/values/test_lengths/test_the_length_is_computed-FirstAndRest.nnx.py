"""JAX port of FirstAndRest (values/test_lengths.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class FirstAndRest(nnx.Module):
    """FirstAndRest (values/test_lengths.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        first, *rest = jnp.split(x, list(range(1, x.shape[1], 1)), axis=1)
        y = jnp.concatenate(rest, axis=1).sum(axis=1, keepdims=True)
        return self.linear(first) * len(rest) + y
