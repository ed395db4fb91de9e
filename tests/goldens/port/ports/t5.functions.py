"""JAX port of T5 (ports/t5.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import math

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")

WIDTH = 16
HEADS = 2
BUCKETS = 8
FAR = 12
SIZE = 8


def t5(p, source, target, *, rng=None, training=False):
    """T5 (ports/t5.py:0): source (N, L) int, target (N, length) int -> (N, length, 17)."""
    low = jnp.finfo(p["shared"]["weight"].dtype).min
    padding = (source == 0)[:, None, None, :].astype(p["shared"]["weight"].dtype) * low
    bias = position_bias(p["encoder"][0]["self_attn"], source.shape[1], buckets=BUCKETS // 2)
    bias = padding + bias
    memory = F.embedding(source, **p["shared"])
    encoder_rng, decoder_rng = split_rng(rng)
    for block, block_rng in zip(p["encoder"], split_rng(encoder_rng, len(p["encoder"]))):
        memory = t5_block(block, memory, bias, rng=block_rng, training=training)
    memory = t5_layer_norm(p["encoder_norm"], memory)
    x = F.embedding(F.pad(target[:, :-1], (1, 0)), **p["shared"])
    length = target.shape[1]
    bias = jnp.triu(jnp.full((length, length), low, dtype=x.dtype), 1)
    bias = bias + position_bias(p["decoder"][0]["self_attn"], length, buckets=BUCKETS, causal=True)
    for block, block_rng in zip(p["decoder"], split_rng(decoder_rng, len(p["decoder"]))):
        x = t5_block(block, x, bias, memory, padding, rng=block_rng, training=training)
    return F.linear(t5_layer_norm(p["decoder_norm"], x) * WIDTH**-0.5, **p["shared"])


def position_bias(p, length, *, buckets, causal=False):
    """T5Attention.position_bias (ports/t5.py:0): returns (1, 2, length, length)."""
    distance = jnp.arange(length)[None, :] - jnp.arange(length)[:, None]
    if causal:
        offset = jnp.zeros_like(distance)
        distance = -jnp.clip(distance, max=0)
    else:
        offset = (distance > 0).astype(int) * buckets
        distance = jnp.abs(distance)
    near = buckets // 2
    ratio = jnp.log(jnp.clip(distance, min=1).astype(jnp.float32) / near) / math.log(FAR / near)
    large = jnp.clip(near + (ratio * (buckets - near)).astype(int), max=buckets - 1)
    bucket = offset + jnp.where(distance < near, distance, large)
    return F.embedding(bucket, **p["relative_attention_bias"]).transpose(2, 0, 1)[None]


def t5_block(p, x, bias, memory=None, memory_bias=None, *, rng, training):
    """T5Block (ports/t5.py:0): x (N, M, 16), bias (1|N, 2, M, M) -> (N, M, 16)."""
    y = t5_layer_norm(p["norm1"], x)
    self_attn_rng, cross_attn_rng, dropout_rng = split_rng(rng, 3)
    self_attn = t5_attention(p["self_attn"], y, y, bias)
    x = x + F.dropout(self_attn, p=0.1, training=training, key=self_attn_rng)
    if memory is not None:
        norm2 = t5_layer_norm(p["norm2"], x)
        cross_attn = t5_attention(p["cross_attn"], norm2, memory, memory_bias)
        x = x + F.dropout(cross_attn, p=0.1, training=training, key=cross_attn_rng)
    h = F.linear(jax.nn.relu(F.linear(t5_layer_norm(p["norm3"], x), **p["wi"])), **p["wo"])
    return x + F.dropout(h, p=0.1, training=training, key=dropout_rng)


def t5_attention(p, x, memory, bias):
    """T5Attention (ports/t5.py:0).

    x (N, L, 16), memory (N, M, 16), bias (1|N, 1|2, 1|L, M) -> (N, L, 16).
    """
    q = F.linear(x, **p["q"])
    k = F.linear(memory, **p["k"])
    v = F.linear(memory, **p["v"])
    q = q.reshape(*q.shape[:2], HEADS, SIZE).swapaxes(1, 2)
    k = k.reshape(*k.shape[:2], HEADS, SIZE).swapaxes(1, 2)
    v = v.reshape(*v.shape[:2], HEADS, SIZE).swapaxes(1, 2)
    weights = jax.nn.softmax(q @ k.swapaxes(-1, -2) + bias, axis=-1)
    return F.linear((weights @ v).swapaxes(1, 2).reshape(x.shape), **p["o"])


def t5_layer_norm(p, x):
    """T5LayerNorm (ports/t5.py:0): x (N, L, 16) -> (N, L, 16)."""
    return p["weight"] * x * lax.rsqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6)


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
