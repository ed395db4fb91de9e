"""JAX port of Attention (rules/test_table.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def attention(p, x, *, rng=None, training=False):
    """Attention (rules/test_table.py:0).

    x (N, L, 4) -> attn_output (N, L, 4), attn_output_weights (N, L, L).
    """
    qkv = F.linear(x, p["attention"]["in_proj_weight"], p["attention"]["in_proj_bias"])
    q, k, v = [y.reshape(*y.shape[:2], 2, -1).swapaxes(1, 2) for y in jnp.split(qkv, 3, axis=-1)]
    scale = q.shape[-1] ** -0.5
    scores = (q * scale) @ k.mT
    attn_output_weights = jax.nn.softmax(scores, axis=-1)
    attn_output_weights = F.dropout(attn_output_weights, 0.1, training=training, key=rng)
    attn_output = attn_output_weights @ v
    attn_output = attn_output.swapaxes(1, 2).reshape(x.shape)
    return F.linear(attn_output, **p["attention"]["out_proj"]), attn_output_weights.mean(axis=1)
