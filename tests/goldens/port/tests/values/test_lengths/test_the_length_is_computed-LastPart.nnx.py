"""JAX port of LastPart (values/test_lengths.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class LastPart(nnx.Module):
    """LastPart (values/test_lengths.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        *_, last = jnp.split(x, list(range(2, x.shape[1], 2)), axis=1)
        return self.linear(last)
