"""JAX port of Attends (finish/test_result_names.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def attends(p, x):
    """Attends (finish/test_result_names.py:0): x (N, L, 4) -> (N, L, 4)."""
    x, weights = multihead_attention(p["attend"], x)
    return x * weights.mean()


def multihead_attention(p, x):
    """torch.nn.MultiheadAttention.

    x (N, L, 4) -> attn_output (N, L, 4), attn_output_weights (N, L, L).
    """
    qkv = F.linear(x, p["in_proj_weight"], p["in_proj_bias"])
    q, k, v = [y.reshape(*y.shape[:2], 2, -1).swapaxes(1, 2) for y in jnp.split(qkv, 3, axis=-1)]
    scale = q.shape[-1] ** -0.5
    scores = (q * scale) @ k.mT
    attn_output_weights = jax.nn.softmax(scores, axis=-1)
    attn_output = attn_output_weights @ v
    attn_output = attn_output.swapaxes(1, 2).reshape(x.shape)
    return F.linear(attn_output, **p["out_proj"]), attn_output_weights.mean(axis=1)
