"""JAX port of Perceiver (port_collection/structured.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def perceiver(p, data, mask, *, rng=None, training=False):
    """Perceiver (port_collection/structured.py:0).

    data (N, L, 5), mask (N, L) bool -> x (N, 4), weights (N, 3, L).
    """
    x = jnp.broadcast_to(p["latents"], (data.shape[0], *p["latents"].shape))
    attended, weights = cross_attend_multihead_attention(p["cross_attend"], x, data, data, mask)
    x = x + attended
    for layer, layer_rng in zip(p["layers"], split_rng(rng, len(p["layers"]))):
        x = transformer_encoder_layer(layer, x, rng=layer_rng, training=training)
    return x.mean(axis=1), weights


def cross_attend_multihead_attention(p, query, key, value, key_padding_mask):
    """torch.nn.MultiheadAttention.

    query (N, 3, 4), key (N, L, 5), value (N, L, 5), key_padding_mask (N, L) bool ->
    attn_output (N, 3, 4), attn_output_weights (N, 3, L).
    """
    b_q, b_k, b_v = jnp.split(p["in_proj_bias"], 3)
    q = F.linear(query, p["q_proj_weight"], b_q)
    k = F.linear(key, p["k_proj_weight"], b_k)
    v = F.linear(value, p["v_proj_weight"], b_v)
    q, k, v = [y.reshape(*y.shape[:2], 2, -1).swapaxes(1, 2) for y in (q, k, v)]
    scale = q.shape[-1] ** -0.5
    scores = (q * scale) @ k.mT + jnp.where(key_padding_mask[:, None, None, :], -jnp.inf, 0.0)
    attn_output_weights = jax.nn.softmax(scores, axis=-1)
    attn_output = attn_output_weights @ v
    attn_output = attn_output.swapaxes(1, 2).reshape(query.shape)
    return F.linear(attn_output, **p["out_proj"]), attn_output_weights.mean(axis=1)


def transformer_encoder_layer(p, src, *, rng, training):
    """torch.nn.TransformerEncoderLayer: src (N, 3, 4) -> (N, 3, 4)."""
    x = src
    sa_block_rng, ff_block_rng = split_rng(rng)
    x = x + sa_block(
        p, F.layer_norm(x, x.shape[-1:], **p["norm1"]), rng=sa_block_rng, training=training
    )
    return x + ff_block(
        p, F.layer_norm(x, x.shape[-1:], **p["norm2"]), rng=ff_block_rng, training=training
    )


def sa_block(p, x, *, rng, training):
    """torch.nn.TransformerEncoderLayer._sa_block: x (N, 3, 4) -> (N, 3, 4)."""
    self_attn_rng, dropout1_rng = split_rng(rng)
    x = self_attn_multihead_attention(p["self_attn"], x, rng=self_attn_rng, training=training)
    return F.dropout(x, p=0.1, training=training, key=dropout1_rng)


def self_attn_multihead_attention(p, x, *, rng, training):
    """torch.nn.MultiheadAttention: x (N, 3, 4) -> (N, 3, 4)."""
    qkv = F.linear(x, p["in_proj_weight"], p["in_proj_bias"])
    q, k, v = [y.reshape(*y.shape[:2], 2, -1).swapaxes(1, 2) for y in jnp.split(qkv, 3, axis=-1)]
    attn_output = F.scaled_dot_product_attention(
        q, k, v, dropout_p=0.1 if training else 0.0, dropout_key=rng
    )
    attn_output = attn_output.swapaxes(1, 2).reshape(x.shape)
    return F.linear(attn_output, **p["out_proj"])


def ff_block(p, x, *, rng, training):
    """torch.nn.TransformerEncoderLayer._ff_block: x (N, 3, 4) -> (N, 3, 4)."""
    dropout_rng, dropout2_rng = split_rng(rng)
    x = jax.nn.relu(F.linear(x, **p["linear1"]))
    x = F.linear(F.dropout(x, p=0.1, training=training, key=dropout_rng), **p["linear2"])
    return F.dropout(x, p=0.1, training=training, key=dropout2_rng)


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
