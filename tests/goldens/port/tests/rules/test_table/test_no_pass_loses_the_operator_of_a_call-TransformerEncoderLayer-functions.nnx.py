"""JAX port of TransformerEncoderLayer (torch.nn.modules.transformer), written by jaxgrad.port for
  torch 2.13.
"""

import jax
from flax import nnx
from jaxgrad.nnx import Dropout, LayerNorm, Linear, MultiheadAttention


class TransformerEncoderLayer(nnx.Module):
    """torch.nn.TransformerEncoderLayer."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.self_attn = MultiheadAttention(4, 2, dropout=0.1, rngs=rngs)
        self.linear1 = Linear(4, 8, rngs=rngs)
        self.dropout = Dropout(0.1, rngs=rngs)
        self.linear2 = Linear(8, 4, rngs=rngs)
        self.norm1 = LayerNorm(4)
        self.norm2 = LayerNorm(4)
        self.dropout1 = Dropout(0.1, rngs=rngs)
        self.dropout2 = Dropout(0.1, rngs=rngs)

    def __call__(self, src):
        x = src
        x = self.norm1(x + self._sa_block(x))
        return self.norm2(x + self._ff_block(x))

    def _sa_block(self, x):
        x = self.self_attn(
            x, x, x, attn_mask=None, key_padding_mask=None, need_weights=False, is_causal=False
        )[0]
        return self.dropout1(x)

    def _ff_block(self, x):
        x = self.linear2(self.dropout(jax.nn.relu(self.linear1(x))))
        return self.dropout2(x)
