"""JAX port of T5 (ports/t5.py), written by jaxgrad.port for torch 2.13."""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Dropout, Embedding, Linear

F = functional.at("2.13")

WIDTH = 16
HEADS = 2
BUCKETS = 8
FAR = 12
SIZE = 8


class T5(nnx.Module):
    """T5 (ports/t5.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.shared = Embedding(17, 16, dtype=jnp.float64, rngs=rngs)
        self.encoder = nnx.List(
            [
                T5Block(self_attn=T5Attention(rngs=rngs), rngs=rngs),
                T5Block(self_attn=T5Attention2(rngs=rngs), rngs=rngs),
            ]
        )
        self.encoder_norm = T5LayerNorm()
        self.decoder = nnx.List(
            [
                T5Block2(self_attn=T5Attention3(rngs=rngs), rngs=rngs),
                T5Block2(self_attn=T5Attention2(rngs=rngs), rngs=rngs),
            ]
        )
        self.decoder_norm = T5LayerNorm()

    def __call__(self, source, target):
        low = jnp.finfo(self.shared.weight[...].dtype).min
        padding = (source == 0)[:, None, None, :].astype(self.shared.weight[...].dtype) * low
        bias = padding
        bias = bias + self.encoder[0].self_attn.position_bias(source.shape[1])
        memory = self.shared(source)
        for block in self.encoder:
            memory = block(memory, bias)
        memory = self.encoder_norm(memory)
        x = self.shared(F.pad(target[:, :-1], (1, 0)))
        length = target.shape[1]
        bias = jnp.triu(jnp.full((length, length), low, dtype=x.dtype), 1)
        bias = bias + self.decoder[0].self_attn.position_bias(length)
        for block in self.decoder:
            x = block(x, bias, memory, padding)
        return F.linear(self.decoder_norm(x) * WIDTH**-0.5, self.shared.weight[...])


class T5Block(nnx.Module):
    """T5Block (ports/t5.py:0)."""

    def __init__(self, self_attn, *, rngs: nnx.Rngs):
        self.norm1 = T5LayerNorm()
        self.self_attn = self_attn
        self.norm3 = T5LayerNorm()
        self.wi = Linear(16, 32, bias=False, dtype=jnp.float64, rngs=rngs)
        self.wo = Linear(32, 16, bias=False, dtype=jnp.float64, rngs=rngs)
        self.dropout = Dropout(0.1, rngs=rngs)

    def __call__(self, x, bias):
        y = self.norm1(x)
        x = x + self.dropout(self.self_attn(y, y, bias))
        return x + self.dropout(self.wo(jax.nn.relu(self.wi(self.norm3(x)))))


class T5LayerNorm(nnx.Module):
    """T5LayerNorm (ports/t5.py:0).

    `jaxgrad.nnx.load_state_dict` sets `weight`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self):
        self.weight = nnx.Param(jnp.empty(16, jnp.float64))

    def __call__(self, x):
        return self.weight[...] * x * lax.rsqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6)


class T5Attention(nnx.Module):
    """T5Attention (ports/t5.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.q = Linear(16, 16, bias=False, dtype=jnp.float64, rngs=rngs)
        self.k = Linear(16, 16, bias=False, dtype=jnp.float64, rngs=rngs)
        self.v = Linear(16, 16, bias=False, dtype=jnp.float64, rngs=rngs)
        self.o = Linear(16, 16, bias=False, dtype=jnp.float64, rngs=rngs)
        self.relative_attention_bias = Embedding(8, 2, dtype=jnp.float64, rngs=rngs)

    def __call__(self, x, memory, bias):
        y = self.q(x)
        y_2 = self.k(memory)
        y_3 = self.v(memory)
        q = y.reshape(*y.shape[:2], HEADS, SIZE).swapaxes(1, 2)
        k = y_2.reshape(*y_2.shape[:2], HEADS, SIZE).swapaxes(1, 2)
        v = y_3.reshape(*y_3.shape[:2], HEADS, SIZE).swapaxes(1, 2)
        weights = jax.nn.softmax(q @ k.swapaxes(-1, -2) + bias, axis=-1)
        return self.o((weights @ v).swapaxes(1, 2).reshape(*x.shape))

    def position_bias(self, length):
        distance = jnp.arange(length)[None, :] - jnp.arange(length)[:, None]
        buckets = BUCKETS // 2
        offset = (distance > 0).astype(int) * buckets
        distance = jnp.abs(distance)
        near = buckets // 2
        ratio = jnp.log(jnp.clip(distance, min=1).astype(jnp.float32) / near) / math.log(FAR / near)
        large = jnp.clip(near + (ratio * (buckets - near)).astype(int), max=buckets - 1)
        bucket = offset + jnp.where(distance < near, distance, large)
        return self.relative_attention_bias(bucket).transpose(2, 0, 1)[None]


class T5Attention2(nnx.Module):
    """T5Attention (ports/t5.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.q = Linear(16, 16, bias=False, dtype=jnp.float64, rngs=rngs)
        self.k = Linear(16, 16, bias=False, dtype=jnp.float64, rngs=rngs)
        self.v = Linear(16, 16, bias=False, dtype=jnp.float64, rngs=rngs)
        self.o = Linear(16, 16, bias=False, dtype=jnp.float64, rngs=rngs)

    def __call__(self, x, memory, bias):
        y = self.q(x)
        y_2 = self.k(memory)
        y_3 = self.v(memory)
        q = y.reshape(*y.shape[:2], HEADS, SIZE).swapaxes(1, 2)
        k = y_2.reshape(*y_2.shape[:2], HEADS, SIZE).swapaxes(1, 2)
        v = y_3.reshape(*y_3.shape[:2], HEADS, SIZE).swapaxes(1, 2)
        weights = jax.nn.softmax(q @ k.swapaxes(-1, -2) + bias, axis=-1)
        return self.o((weights @ v).swapaxes(1, 2).reshape(*x.shape))


class T5Block2(nnx.Module):
    """T5Block (ports/t5.py:0)."""

    def __init__(self, self_attn, *, rngs: nnx.Rngs):
        self.norm1 = T5LayerNorm()
        self.self_attn = self_attn
        self.norm2 = T5LayerNorm()
        self.cross_attn = T5Attention2(rngs=rngs)
        self.norm3 = T5LayerNorm()
        self.wi = Linear(16, 32, bias=False, dtype=jnp.float64, rngs=rngs)
        self.wo = Linear(32, 16, bias=False, dtype=jnp.float64, rngs=rngs)
        self.dropout = Dropout(0.1, rngs=rngs)

    def __call__(self, x, bias, memory, memory_bias):
        y = self.norm1(x)
        x = x + self.dropout(self.self_attn(y, y, bias))
        x = x + self.dropout(self.cross_attn(self.norm2(x), memory, memory_bias))
        return x + self.dropout(self.wo(jax.nn.relu(self.wi(self.norm3(x)))))


class T5Attention3(nnx.Module):
    """T5Attention (ports/t5.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.q = Linear(16, 16, bias=False, dtype=jnp.float64, rngs=rngs)
        self.k = Linear(16, 16, bias=False, dtype=jnp.float64, rngs=rngs)
        self.v = Linear(16, 16, bias=False, dtype=jnp.float64, rngs=rngs)
        self.o = Linear(16, 16, bias=False, dtype=jnp.float64, rngs=rngs)
        self.relative_attention_bias = Embedding(8, 2, dtype=jnp.float64, rngs=rngs)

    def __call__(self, x, memory, bias):
        y = self.q(x)
        y_2 = self.k(memory)
        y_3 = self.v(memory)
        q = y.reshape(*y.shape[:2], HEADS, SIZE).swapaxes(1, 2)
        k = y_2.reshape(*y_2.shape[:2], HEADS, SIZE).swapaxes(1, 2)
        v = y_3.reshape(*y_3.shape[:2], HEADS, SIZE).swapaxes(1, 2)
        weights = jax.nn.softmax(q @ k.swapaxes(-1, -2) + bias, axis=-1)
        return self.o((weights @ v).swapaxes(1, 2).reshape(*x.shape))

    def position_bias(self, length):
        distance = jnp.arange(length)[None, :] - jnp.arange(length)[:, None]
        offset = jnp.zeros_like(distance)
        distance = -jnp.clip(distance, max=0)
        near = BUCKETS // 2
        ratio = jnp.log(jnp.clip(distance, min=1).astype(jnp.float32) / near) / math.log(FAR / near)
        large = jnp.clip(near + (ratio * (BUCKETS - near)).astype(int), max=BUCKETS - 1)
        bucket = offset + jnp.where(distance < near, distance, large)
        return self.relative_attention_bias(bucket).transpose(2, 0, 1)[None]
