"""JAX port of Masked (modules/test_attention_modules.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def masked(p, x, y, padding, mask, *, rng=None, training=False):
    """Masked (modules/test_attention_modules.py:0).

    x (N, L, 8), y (N, L, 8), padding (N, L) bool, mask (L, L) bool -> attn_output (N, L, 8).
    """
    w_q, w_k, w_v = jnp.split(p["attn"]["in_proj_weight"], 3)
    b_q, b_k, b_v = jnp.split(p["attn"]["in_proj_bias"], 3)
    q = F.linear(x, w_q, b_q)
    k = F.linear(y, w_k, b_k)
    v = F.linear(y, w_v, b_v)
    q, k, v = [y.reshape(*y.shape[:2], 2, -1).swapaxes(1, 2) for y in (q, k, v)]
    mask = ~(padding[:, None, None, :] | mask)
    attn_output = F.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, dropout_p=0.1 if training else 0.0, dropout_key=rng
    )
    attn_output = attn_output.swapaxes(1, 2).reshape(x.shape)
    return (F.linear(attn_output, **p["attn"]["out_proj"]),)
