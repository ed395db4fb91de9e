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
    """Attends in a batch, which is a template, and without one, which is a function of torch.

    Attention (rules/test_table.py:0): x (N, L, 4) -> (N, L, 4).
    """
    qkv = F.linear(x, p["attention"]["in_proj_weight"], p["attention"]["in_proj_bias"])
    q, k, v = [y.reshape(*y.shape[:2], 2, -1).swapaxes(1, 2) for y in jnp.split(qkv, 3, axis=-1)]
    scale = q.shape[-1] ** -0.5
    scores = (q * scale) @ k.mT
    attn_output_weights = jax.nn.softmax(scores, axis=-1)
    attention_rng_1, attention_rng_2 = split_rng(rng)
    attn_output_weights = F.dropout(
        attn_output_weights, 0.1, training=training, key=attention_rng_1
    )
    attn_output = attn_output_weights @ v
    attn_output = attn_output.swapaxes(1, 2).reshape(x.shape)
    return F.linear(attn_output, **p["attention"]["out_proj"]) + multihead_attention(
        p["attention"], x[0], x[0], x[0], rng=attention_rng_2, training=training
    )[0]


def multihead_attention(p, query, key, value, *, rng, training):
    """torch.nn.MultiheadAttention.

    query (L, 4), key (L, 4), value (L, 4) -> attn_output (L, 4), attn_output_weights (L, L).
    """
    attn_output, attn_output_weights = F.multi_head_attention_forward(
        query,
        key,
        value,
        embed_dim_to_check=4,
        num_heads=2,
        in_proj_weight=p["in_proj_weight"],
        in_proj_bias=p["in_proj_bias"],
        bias_k=None,
        bias_v=None,
        add_zero_attn=False,
        dropout_p=0.1,
        out_proj_weight=p["out_proj"]["weight"],
        out_proj_bias=p["out_proj"]["bias"],
        dropout_key=rng,
        training=training,
    )
    return attn_output, attn_output_weights


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
