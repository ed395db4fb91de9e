"""JAX port of Attention (modules/test_attention_modules.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def attention(p, x, y, *, rng=None, training=False):
    """Attention (modules/test_attention_modules.py:0): x (N, L, 8), y (N, M, D) -> (N, L, 8)."""
    y = x
    return multihead_attention(p["attn"], x, y, y, rng=rng, training=training)


def multihead_attention(p, query, key, value, *, rng, training):
    """torch.nn.MultiheadAttention: query (N, L, 8), key (N, L, 8), value (N, L, 8) -> (N, L, 8)."""
    w_q, w_k, w_v = jnp.split(p["in_proj_weight"], 3)
    b_q, b_k, b_v = jnp.split(p["in_proj_bias"], 3)
    q = F.linear(query, w_q, b_q)
    k = F.linear(key, w_k, b_k)
    v = F.linear(value, w_v, b_v)
    q, k, v = [y.reshape(*y.shape[:2], 2, -1).swapaxes(1, 2) for y in (q, k, v)]
    attn_output = F.scaled_dot_product_attention(
        q, k, v, dropout_p=0.1 if training else 0.0, dropout_key=rng
    )
    attn_output = attn_output.swapaxes(1, 2).reshape(query.shape)
    return F.linear(attn_output, **p["out_proj"])
