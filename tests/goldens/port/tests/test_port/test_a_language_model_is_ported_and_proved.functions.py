"""JAX port of Language (port/test_port.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: */mask.
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


def language(p, ids, *, rng=None, training=False):
    """Language (port/test_port.py:0): ids (batch, 5) int -> (batch, 5, 7)."""
    x = F.dropout(F.embedding(ids, **p["embed"]), p=0.1, training=training, key=rng)
    for block in p["blocks"]:
        x = block_forward(block, x)
    return F.linear(x, p["embed"]["weight"])  # tied


def block_forward(p, x):
    """Block (port/test_port.py:0): x (batch, 5, 4) -> (batch, 5, 4)."""
    return x + attend(p, F.layer_norm(x, x.shape[-1:], **p["norm"]))


def attend(p, x, *, heads=2):
    """Block.attend (port/test_port.py:0): x (batch, 5, 4) -> (batch, 5, 4)."""
    batch, length, width = x.shape
    # queries, keys and values at once
    qkv = F.linear(x, **p["qkv"])
    q, k, v = jnp.split(qkv, list(range(width, qkv.shape[2], width)), axis=2)
    size = batch, length, heads, width // heads
    q, k, v = [y.reshape(size).swapaxes(1, 2) for y in (q, k, v)]
    att = q @ k.swapaxes(-2, -1) * (1.0 / math.sqrt(k.shape[-1]))
    att = jnp.where(p["mask"][:length, :length] == 0, -jnp.inf, att)  # causal
    h = (jax.nn.softmax(att, axis=-1) @ v).swapaxes(1, 2)
    return F.linear(h.reshape(batch, length, width), **p["proj"])
