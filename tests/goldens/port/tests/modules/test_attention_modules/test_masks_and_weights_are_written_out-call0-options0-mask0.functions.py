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

    x (N, L, 8), y (N, L, 8), padding (N, L) bool, mask (M, L) bool -> (N, L, 8), (N, L, L).
    """
    w_q, w_k, w_v = jnp.split(p["attn"]["in_proj_weight"], 3)
    b_q, b_k, b_v = jnp.split(p["attn"]["in_proj_bias"], 3)
    q = F.linear(x, w_q, b_q)
    k = F.linear(y, w_k, b_k)
    v = F.linear(y, w_v, b_v)
    q, k, v = [y.reshape(*y.shape[:2], 2, -1).swapaxes(1, 2) for y in (q, k, v)]
    scale = q.shape[-1] ** -0.5
    scores = (q * scale) @ k.mT + jnp.where(padding[:, None, None, :], -jnp.inf, 0.0)
    attn_output_weights = jax.nn.softmax(scores, axis=-1)
    attn_output = attn_output_weights @ v
    attn_output = attn_output.swapaxes(1, 2).reshape(x.shape)
    return (F.linear(attn_output, **p["attn"]["out_proj"]), attn_output_weights.mean(axis=1))[:2]
