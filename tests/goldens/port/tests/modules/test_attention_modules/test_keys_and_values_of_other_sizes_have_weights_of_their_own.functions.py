"""JAX port of Sizes (modules/test_attention_modules.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def sizes(p, x, y):
    """Sizes (modules/test_attention_modules.py:0).

    x (N, L, 8), y (N, L, 8) -> (N, L, 8), (L, N, N).
    """
    return multihead_attention(p["attn"], x, y[..., :5], y[..., 5:])


def multihead_attention(p, query, key, value):
    """torch.nn.MultiheadAttention.

    query (N, L, 8), key (N, L, 5), value (N, L, 3) -> attn_output (N, L, 8),
    attn_output_weights (L, N, N).
    """
    b_q, b_k, b_v = jnp.split(p["in_proj_bias"], 3)
    q = F.linear(query.swapaxes(0, 1), p["q_proj_weight"], b_q)
    k = F.linear(key.swapaxes(0, 1), p["k_proj_weight"], b_k)
    v = F.linear(value.swapaxes(0, 1), p["v_proj_weight"], b_v)
    q, k, v = [y.reshape(*y.shape[:2], 2, -1).swapaxes(1, 2) for y in (q, k, v)]
    scale = q.shape[-1] ** -0.5
    scores = (q * scale) @ k.mT
    attn_output_weights = jax.nn.softmax(scores, axis=-1)
    attn_output = attn_output_weights @ v
    attn_output = attn_output.swapaxes(1, 2).reshape(query.swapaxes(0, 1).shape)
    return F.linear(attn_output, **p["out_proj"]).swapaxes(0, 1), attn_output_weights.mean(axis=1)
