"""JAX port of Attention (modules/test_attention_modules.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def attention(p, x, y):
    """Attention (modules/test_attention_modules.py:0): x (N, L, 8), y (N, L, 8) -> (N, L, 8)."""
    w_q, w_k, w_v = jnp.split(p["attn"]["in_proj_weight"], 3)
    q = F.linear(x.swapaxes(0, 1), w_q)
    k = F.linear(y.swapaxes(0, 1), w_k)
    v = F.linear(y.swapaxes(0, 1), w_v)
    q, k, v = [y.reshape(*y.shape[:2], 2, -1).swapaxes(1, 2) for y in (q, k, v)]
    attn_output = F.scaled_dot_product_attention(q, k, v)
    attn_output = attn_output.swapaxes(1, 2).reshape(x.swapaxes(0, 1).shape)
    return F.linear(attn_output, **p["attn"]["out_proj"]).swapaxes(0, 1)
