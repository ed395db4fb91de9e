"""JAX port of Timed (finish/test_signatures.py), written by jaxgrad.port for torch 2.13."""

import math

import jax.numpy as jnp
from flax import nnx


class Timed(nnx.Module):
    """Timed (finish/test_signatures.py:0)."""

    def __call__(self, t):
        return waves(t, width=8)


def waves(t, *, width, period=100.0):
    """waves (finish/test_signatures.py:0)."""
    return jnp.cos(t[:, None] * math.log(period) / width)
