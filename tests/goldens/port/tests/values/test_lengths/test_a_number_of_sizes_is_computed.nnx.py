"""JAX port of OnesOfARank (values/test_lengths.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class OnesOfARank(nnx.Module):
    """OnesOfARank (values/test_lengths.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        scale = jnp.arange(x.shape[0], dtype=x.dtype)
        return self.linear(x) * scale.reshape(-1, *[1] * (x.ndim - 1))
