"""JAX port of TransformerEncoderLayer (torch.nn.modules.transformer), written by jaxgrad.port for
  torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def transformer_encoder_layer(p, src, *, rng=None, training=False):
    """torch.nn.TransformerEncoderLayer: src (N, L, 4) -> (N, L, 4)."""
    x = src
    sa_block_rng, ff_block_rng = split_rng(rng)
    x = F.layer_norm(x + sa_block(p, x, rng=sa_block_rng, training=training), (4,), **p["norm1"])
    return F.layer_norm(x + ff_block(p, x, rng=ff_block_rng, training=training), (4,), **p["norm2"])


def sa_block(p, x, *, rng, training):
    """torch.nn.TransformerEncoderLayer._sa_block: x (N, L, 4) -> (N, L, 4)."""
    self_attn_rng, dropout1_rng = split_rng(rng)
    x = multihead_attention(p["self_attn"], x, rng=self_attn_rng, training=training)
    return F.dropout(x, p=0.1, training=training, key=dropout1_rng)


def multihead_attention(p, x, *, rng, training):
    """torch.nn.MultiheadAttention: x (N, L, 4) -> (N, L, 4)."""
    qkv = F.linear(x.swapaxes(0, 1), p["in_proj_weight"], p["in_proj_bias"])
    q, k, v = [y.reshape(*y.shape[:2], 2, -1).swapaxes(1, 2) for y in jnp.split(qkv, 3, axis=-1)]
    attn_output = F.scaled_dot_product_attention(
        q, k, v, dropout_p=0.1 if training else 0.0, dropout_key=rng
    )
    attn_output = attn_output.swapaxes(1, 2).reshape(x.swapaxes(0, 1).shape)
    return F.linear(attn_output, **p["out_proj"]).swapaxes(0, 1)


def ff_block(p, x, *, rng, training):
    """torch.nn.TransformerEncoderLayer._ff_block: x (N, L, 4) -> (N, L, 4)."""
    dropout_rng, dropout2_rng = split_rng(rng)
    x = jax.nn.relu(F.linear(x, **p["linear1"]))
    x = F.linear(F.dropout(x, p=0.1, training=training, key=dropout_rng), **p["linear2"])
    return F.dropout(x, p=0.1, training=training, key=dropout2_rng)


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
