"""JAX port of Llama (port_collection/sequence.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: inv_freq.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def llama(p, tokens, targets):
    """Llama (port_collection/sequence.py:0).

    tokens (bsz, seqlen) int, targets (bsz, seqlen) int -> ().
    """
    h = F.embedding(tokens, **p["tok_embeddings"])
    angles = jnp.outer(jnp.arange(tokens.shape[1], dtype=jnp.float32), p["inv_freq"])
    angles = jnp.concatenate((angles, angles), axis=-1)
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    for layer in p["layers"]:
        h = llama_block(layer, h, cos, sin)
    logits = F.linear(rms_norm(p["norm"], h), **p["output"])
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))


def llama_block(p, x, cos, sin):
    """LlamaBlock (port_collection/sequence.py:0).

    x (bsz, seqlen, 8), cos (seqlen, 2), sin (seqlen, 2) -> (bsz, seqlen, 8).
    """
    h = x + llama_attention(p["attention"], rms_norm(p["attention_norm"], x), cos, sin)
    return h + swiglu(p["feed_forward"], rms_norm(p["ffn_norm"], h))


def llama_attention(p, x, cos, sin, *, n_heads=4, head_dim=2, n_kv_heads=2):
    """LlamaAttention (port_collection/sequence.py:0).

    x (bsz, seqlen, 8), cos (seqlen, 2), sin (seqlen, 2) -> (bsz, seqlen, 8).
    """
    bsz, seqlen, _ = x.shape
    xq = F.linear(x, **p["wq"]).reshape(bsz, seqlen, n_heads, head_dim).swapaxes(1, 2)
    xk = F.linear(x, **p["wk"]).reshape(bsz, seqlen, n_kv_heads, head_dim).swapaxes(1, 2)
    xv = F.linear(x, **p["wv"]).reshape(bsz, seqlen, n_kv_heads, head_dim).swapaxes(1, 2)
    xq, xk = apply_rope(xq, xk, cos, sin)
    # every head of the keys and values serves several heads of the queries
    xk, xv = [jnp.repeat(t, n_heads // n_kv_heads, axis=1) for t in (xk, xv)]
    out = F.scaled_dot_product_attention(xq, xk, xv, is_causal=True)
    return F.linear(out.swapaxes(1, 2).reshape(bsz, seqlen, -1), **p["wo"])


def apply_rope(q, k, cos, sin):
    """apply_rope (port_collection/sequence.py:0).

    q (bsz, 4, seqlen, 2), k (bsz, 2, seqlen, 2), cos (seqlen, 2), sin (seqlen, 2) ->
    (bsz, 4, seqlen, 2), (bsz, 2, seqlen, 2).
    """
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


def rotate_half(x):
    """rotate_half (port_collection/sequence.py:0).

    x (bsz, C, seqlen, 2) -> (bsz, C, seqlen, 2).
    """
    x1, x2 = jnp.split(x, 2, axis=-1)
    return jnp.concatenate((-x2, x1), axis=-1)


def swiglu(p, x):
    """SwiGLU (port_collection/sequence.py:0): x (bsz, seqlen, 8) -> (bsz, seqlen, 8)."""
    return F.linear(jax.nn.silu(F.linear(x, **p["w1"])) * F.linear(x, **p["w3"]), **p["w2"])


def rms_norm(p, x):
    """RMSNorm (port_collection/sequence.py:0): x (bsz, seqlen, 8) -> (bsz, seqlen, 8)."""
    return norm(x.astype(jnp.float32)).astype(x.dtype) * p["weight"]


def norm(x):
    """RMSNorm._norm (port_collection/sequence.py:0): x (bsz, seqlen, 8) -> (bsz, seqlen, 8)."""
    return x * lax.rsqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5)
