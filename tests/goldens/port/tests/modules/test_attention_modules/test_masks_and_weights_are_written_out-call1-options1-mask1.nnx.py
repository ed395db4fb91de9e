"""JAX port of Masked (modules/test_attention_modules.py), written by jaxgrad.port for torch 2.13.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import MultiheadAttention


class Masked(nnx.Module):
    """Masked (modules/test_attention_modules.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.attn = MultiheadAttention(
            8, 2, dropout=0.1, batch_first=True, dtype=jnp.float64, rngs=rngs
        )

    def __call__(self, x, y, padding, mask):
        return self.attn(
            x,
            y,
            y,
            key_padding_mask=padding,
            need_weights=True,
            attn_mask=mask,
            average_attn_weights=True,
            is_causal=False,
        )[:2]
