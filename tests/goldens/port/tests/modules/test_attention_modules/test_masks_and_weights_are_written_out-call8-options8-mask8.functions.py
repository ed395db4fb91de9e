"""JAX port of Masked (modules/test_attention_modules.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def masked(p, x, y, padding, mask):
    """Masked (modules/test_attention_modules.py:0).

    x (N, L, 8), y (N, M, 8), padding (N, K) bool, mask (S, T) bool -> (N, L, 8), (N, L, M + 2).
    """
    w_q, w_k, w_v = jnp.split(p["attn"]["in_proj_weight"], 3)
    b_q, b_k, b_v = jnp.split(p["attn"]["in_proj_bias"], 3)
    q = F.linear(x, w_q, b_q)
    k = F.linear(y, w_k, b_k)
    v = F.linear(y, w_v, b_v)
    k = jnp.concatenate([k, jnp.tile(p["attn"]["bias_k"], (k.shape[0], 1, 1))], axis=1)
    v = jnp.concatenate([v, jnp.tile(p["attn"]["bias_v"], (v.shape[0], 1, 1))], axis=1)
    k, v = [jnp.pad(y, ((0, 0), (0, 1), (0, 0))) for y in (k, v)]
    q, k, v = [y.reshape(*y.shape[:2], 2, -1).swapaxes(1, 2) for y in (q, k, v)]
    scale = q.shape[-1] ** -0.5
    scores = (q * scale) @ k.mT
    attn_output_weights = jax.nn.softmax(scores, axis=-1)
    attn_output = attn_output_weights @ v
    attn_output = attn_output.swapaxes(1, 2).reshape(x.shape)
    return (F.linear(attn_output, **p["attn"]["out_proj"]), attn_output_weights.mean(axis=1))[:2]
