"""JAX port of Attention (modules/test_attention_modules.py), written by jaxgrad.port for torch
  2.13.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import MultiheadAttention


class Attention(nnx.Module):
    """Attention (modules/test_attention_modules.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.attn = MultiheadAttention(
            8, 2, dropout=0.1, batch_first=True, dtype=jnp.float64, rngs=rngs
        )

    def __call__(self, x, y):
        y = x
        return self.attn(x, y, y, need_weights=False)[0]
