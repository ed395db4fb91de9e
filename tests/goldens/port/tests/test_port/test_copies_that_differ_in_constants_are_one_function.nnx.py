"""JAX port of Two (port/test_port.py), written by jaxgrad.port for torch 2.13."""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import LayerNorm, Linear


class Two(nnx.Module):
    """Two (port/test_port.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.a = Block(heads=2, rngs=rngs)
        self.b = Block(heads=4, rngs=rngs)

    def __call__(self, x):
        return self.b(self.a(x))


class Block(nnx.Module):
    """Block (port/test_port.py:0)."""

    def __init__(self, heads, *, rngs: nnx.Rngs):
        self.heads = heads
        self.mask = nnx.BatchStat(jnp.tril(jnp.ones((8, 8), bool)))
        self.norm = LayerNorm(4)
        self.qkv = Linear(4, 12, rngs=rngs)
        self.proj = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return x + self.attend(self.norm(x))

    def attend(self, x):
        batch, length, width = x.shape
        # queries, keys and values at once
        qkv = self.qkv(x)
        q, k, v = jnp.split(qkv, list(range(width, qkv.shape[2], width)), axis=2)
        size = batch, length, self.heads, width // self.heads
        q, k, v = [y.reshape(*size).swapaxes(1, 2) for y in (q, k, v)]
        att = q @ k.swapaxes(-2, -1) * (1.0 / math.sqrt(k.shape[-1]))
        att = jnp.where(self.mask[...][:length, :length] == 0, -jnp.inf, att)  # causal
        h = (jax.nn.softmax(att, axis=-1) @ v).swapaxes(1, 2)
        return self.proj(h.reshape(batch, length, width))
