"""JAX port of GPT2 (ports/gpt2.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: h/*/attn/bias.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import math

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")

WIDTH = 16
HEADS = 4


def gpt2(p, idx, *, rng=None, training=False):
    """GPT2 (ports/gpt2.py:0): idx (b, 7) int -> (b, 7, 17)."""
    pos = jnp.arange(idx.shape[1])
    drop_rng, h_rng = split_rng(rng)
    x = F.embedding(idx, **p["wte"]) + F.embedding(pos, **p["wpe"])
    x = F.dropout(x, p=0.1, training=training, key=drop_rng)
    for block, block_rng in zip(p["h"], split_rng(h_rng, len(p["h"]))):
        x = block_forward(block, x, rng=block_rng, training=training)
    return F.linear(F.layer_norm(x, x.shape[-1:], **p["ln_f"]), p["wte"]["weight"])  # tied


def block_forward(p, x, *, rng, training):
    """Block (ports/gpt2.py:0): x (b, 7, 16) -> (b, 7, 16)."""
    attn_rng, mlp_rng = split_rng(rng)
    y = F.layer_norm(x, x.shape[-1:], **p["ln_1"])
    x = x + attention(p["attn"], y, rng=attn_rng, training=training)
    return x + mlp(
        p["mlp"], F.layer_norm(x, x.shape[-1:], **p["ln_2"]), rng=mlp_rng, training=training
    )


def attention(p, x, *, rng, training):
    """Attention (ports/gpt2.py:0): x (b, 7, 16) -> (b, 7, 16)."""
    b, t, c = x.shape
    y = conv1d(p["c_attn"], x)
    y = jnp.split(y, [WIDTH, 2 * WIDTH], axis=2)
    q, k, v = [part.reshape(b, t, HEADS, c // HEADS).swapaxes(1, 2) for part in y]
    att = q @ k.swapaxes(-2, -1) * (1.0 / math.sqrt(k.shape[-1]))
    att = jnp.where(~p["bias"][:, :, :t, :t], -jnp.inf, att)
    att = F.dropout(jax.nn.softmax(att, axis=-1), p=0.1, training=training, key=rng)
    return conv1d(p["c_proj"], (att @ v).swapaxes(1, 2).reshape(b, t, c))


def mlp(p, x, *, rng, training):
    """MLP (ports/gpt2.py:0): x (b, 7, 16) -> (b, 7, 16)."""
    x = conv1d(p["c_proj"], F.gelu(conv1d(p["c_fc"], x), approximate="tanh"))
    return F.dropout(x, p=0.1, training=training, key=rng)


def conv1d(p, x):
    """A linear layer with an (in, out) weight, as in the published checkpoints.

    Conv1D (ports/gpt2.py:0): x (b, 7, D) -> (b, 7, D').
    """
    return (p["bias"] + x.reshape(-1, x.shape[-1]) @ p["weight"]).reshape(*x.shape[:-1], -1)


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
