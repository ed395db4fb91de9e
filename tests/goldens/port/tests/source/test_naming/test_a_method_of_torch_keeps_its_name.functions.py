"""JAX port of TransformerEncoderLayer (torch.nn.modules.transformer), written by jaxgrad.port for
  torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def transformer_encoder_layer(p, src):
    """torch.nn.TransformerEncoderLayer: src (N, L, 4) -> (N, L, 4)."""
    x = F.layer_norm(src + multihead_attention(p["self_attn"], src), (4,), **p["norm1"])
    return F.layer_norm(x + ff_block(p, x), (4,), **p["norm2"])


def multihead_attention(p, x):
    """torch.nn.MultiheadAttention: x (N, L, 4) -> (N, L, 4)."""
    qkv = F.linear(x, p["in_proj_weight"], p["in_proj_bias"])
    q, k, v = [y.reshape(*y.shape[:2], 2, -1).swapaxes(1, 2) for y in jnp.split(qkv, 3, axis=-1)]
    attn_output = F.scaled_dot_product_attention(q, k, v)
    attn_output = attn_output.swapaxes(1, 2).reshape(x.shape)
    return F.linear(attn_output, **p["out_proj"])


def ff_block(p, x):
    """torch.nn.TransformerEncoderLayer._ff_block: x (N, L, 4) -> (N, L, 4)."""
    return F.linear(jax.nn.relu(F.linear(x, **p["linear1"])), **p["linear2"])
