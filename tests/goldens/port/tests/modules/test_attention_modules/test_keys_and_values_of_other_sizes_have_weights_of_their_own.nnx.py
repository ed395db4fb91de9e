"""JAX port of Sizes (modules/test_attention_modules.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import MultiheadAttention


class Sizes(nnx.Module):
    """Sizes (modules/test_attention_modules.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.attn = MultiheadAttention(8, 2, kdim=5, vdim=3, dtype=jnp.float64, rngs=rngs)

    def __call__(self, x, y):
        return self.attn(x, y[..., :5], y[..., 5:])
