"""JAX port of Llama (port_collection/sequence.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Embedding, Linear

F = functional.at("2.13")


class Llama(nnx.Module):
    """Llama (port_collection/sequence.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inv_freq = nnx.Cache(jnp.ones(1, jnp.float32))
        self.tok_embeddings = Embedding(11, 8, rngs=rngs)
        self.layers = nnx.List([LlamaBlock(rngs=rngs) for _ in range(2)])
        self.norm = RMSNorm()
        self.output = Linear(8, 11, bias=False, rngs=rngs)

    def __call__(self, tokens, targets):
        h = self.tok_embeddings(tokens)
        angles = jnp.outer(jnp.arange(tokens.shape[1], dtype=jnp.float32), self.inv_freq[...])
        angles = jnp.concatenate((angles, angles), axis=-1)
        cos, sin = jnp.cos(angles), jnp.sin(angles)
        for layer in self.layers:
            h = layer(h, cos, sin)
        logits = self.output(self.norm(h))
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))


class LlamaBlock(nnx.Module):
    """LlamaBlock (port_collection/sequence.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.attention = LlamaAttention(rngs=rngs)
        self.feed_forward = SwiGLU(rngs=rngs)
        self.attention_norm = RMSNorm()
        self.ffn_norm = RMSNorm()

    def __call__(self, x, cos, sin):
        h = x + self.attention(self.attention_norm(x), cos, sin)
        return h + self.feed_forward(self.ffn_norm(h))


class LlamaAttention(nnx.Module):
    """LlamaAttention (port_collection/sequence.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.n_heads = 4
        self.head_dim = 2
        self.n_kv_heads = 2
        self.wq = Linear(8, 8, bias=False, rngs=rngs)
        self.wk = Linear(8, 4, bias=False, rngs=rngs)
        self.wv = Linear(8, 4, bias=False, rngs=rngs)
        self.wo = Linear(8, 8, bias=False, rngs=rngs)

    def __call__(self, x, cos, sin):
        bsz, seqlen, _ = x.shape
        xq = self.wq(x).reshape(bsz, seqlen, self.n_heads, self.head_dim).swapaxes(1, 2)
        xk = self.wk(x).reshape(bsz, seqlen, self.n_kv_heads, self.head_dim).swapaxes(1, 2)
        xv = self.wv(x).reshape(bsz, seqlen, self.n_kv_heads, self.head_dim).swapaxes(1, 2)
        xq, xk = apply_rope(xq, xk, cos, sin)
        # every head of the keys and values serves several heads of the queries
        xk, xv = [jnp.repeat(t, self.n_heads // self.n_kv_heads, axis=1) for t in (xk, xv)]
        out = F.scaled_dot_product_attention(xq, xk, xv, is_causal=True)
        return self.wo(out.swapaxes(1, 2).reshape(bsz, seqlen, -1))


class SwiGLU(nnx.Module):
    """SwiGLU (port_collection/sequence.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.w1 = Linear(8, 12, bias=False, rngs=rngs)
        self.w2 = Linear(12, 8, bias=False, rngs=rngs)
        self.w3 = Linear(8, 12, bias=False, rngs=rngs)

    def __call__(self, x):
        return self.w2(jax.nn.silu(self.w1(x)) * self.w3(x))


class RMSNorm(nnx.Module):
    """RMSNorm (port_collection/sequence.py:0)."""

    def __init__(self):
        self.weight = nnx.Param(jnp.ones(8, jnp.float32))

    def __call__(self, x):
        return self._norm(x.astype(jnp.float32)).astype(x.dtype) * self.weight[...]

    def _norm(self, x):
        return x * lax.rsqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5)


def apply_rope(q, k, cos, sin):
    """apply_rope (port_collection/sequence.py:0)."""
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


def rotate_half(x):
    """rotate_half (port_collection/sequence.py:0)."""
    x1, x2 = jnp.split(x, 2, axis=-1)
    return jnp.concatenate((-x2, x1), axis=-1)
