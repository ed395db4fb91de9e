"""JAX port of GPT2 (ports/gpt2.py), written by jaxgrad.port for torch 2.13."""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Dropout, Embedding, LayerNorm, Linear

F = functional.at("2.13")

WIDTH = 16
HEADS = 4


class GPT2(nnx.Module):
    """GPT2 (ports/gpt2.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.wte = Embedding(17, 16, dtype=jnp.float64, rngs=rngs)
        self.wpe = Embedding(9, 16, dtype=jnp.float64, rngs=rngs)
        self.drop = Dropout(0.1, rngs=rngs)
        self.h = nnx.List([Block(rngs=rngs) for _ in range(2)])
        self.ln_f = LayerNorm(16, dtype=jnp.float64)
        self.lm_head = Linear(16, 17, bias=False, dtype=jnp.float64, rngs=rngs)
        self.lm_head.weight = self.wte.weight  # tied

    def __call__(self, idx):
        pos = jnp.arange(idx.shape[1])
        x = self.drop(self.wte(idx) + self.wpe(pos))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


class Block(nnx.Module):
    """Block (ports/gpt2.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.ln_1 = LayerNorm(16, dtype=jnp.float64)
        self.attn = Attention(rngs=rngs)
        self.ln_2 = LayerNorm(16, dtype=jnp.float64)
        self.mlp = MLP(rngs=rngs)

    def __call__(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Attention(nnx.Module):
    """Attention (ports/gpt2.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.bias = nnx.BatchStat(jnp.tril(jnp.ones((1, 1, 7, 7), bool)))
        self.c_attn = Conv1D(weight_size=16, weight_size_2=48)
        self.c_proj = Conv1D(weight_size=16, weight_size_2=16)
        self.attn_dropout = Dropout(0.1, rngs=rngs)

    def __call__(self, x):
        b, t, c = x.shape
        c_attn = self.c_attn(x)
        y = jnp.split(c_attn, list(range(WIDTH, c_attn.shape[2], WIDTH)), axis=2)
        q, k, v = [part.reshape(b, t, HEADS, c // HEADS).swapaxes(1, 2) for part in y]
        att = q @ k.swapaxes(-2, -1) * (1.0 / math.sqrt(k.shape[-1]))
        att = jnp.where(~self.bias[...][:, :, :t, :t], -jnp.inf, att)
        att = self.attn_dropout(jax.nn.softmax(att, axis=-1))
        return self.c_proj((att @ v).swapaxes(1, 2).reshape(b, t, c))


class Conv1D(nnx.Module):
    """A linear layer with an (in, out) weight, as in the published checkpoints.

    Conv1D (ports/gpt2.py:0).

    `jaxgrad.nnx.load_state_dict` sets `weight` and `bias`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self, weight_size, weight_size_2):
        self.weight = nnx.Param(jnp.empty((weight_size, weight_size_2), jnp.float64))
        self.bias = nnx.Param(jnp.empty(weight_size_2, jnp.float64))

    def __call__(self, x):
        y = x.reshape(-1, x.shape[-1]) @ self.weight[...]
        return (self.bias[...] + y).reshape(*x.shape[:-1], -1)


class MLP(nnx.Module):
    """MLP (ports/gpt2.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.c_fc = Conv1D(weight_size=16, weight_size_2=64)
        self.c_proj = Conv1D(weight_size=64, weight_size_2=16)
        self.dropout = Dropout(0.1, rngs=rngs)

    def __call__(self, x):
        return self.dropout(self.c_proj(F.gelu(self.c_fc(x), approximate="tanh")))
