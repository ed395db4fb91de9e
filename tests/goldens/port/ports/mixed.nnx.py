"""JAX port of Block (ports/mixed.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear

WIDTH = 4
EPS = 1e-6


class Block(nnx.Module):
    """An RMS norm in float32, attention and a gated layer; `low` runs the products in bfloat16.

    Block (ports/mixed.py:0).

    `jaxgrad.nnx.load_state_dict` sets `scale`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = nnx.Param(jnp.empty(4, jnp.float32))
        self.qkv = Linear(4, 12, bias=False, rngs=rngs)
        self.proj = Linear(4, 4, rngs=rngs)
        self.up = Linear(4, 6, rngs=rngs)
        self.down = Linear(6, 4, rngs=rngs)

    def __call__(self, x):
        q, k, v = jnp.split(self.qkv(self.norm(x)), 3, axis=-1)
        weights = jax.nn.softmax((q @ k.swapaxes(1, 2) / WIDTH**0.5).astype(jnp.float32), axis=-1)
        x = x + self.proj(weights.astype(v.dtype) @ v)
        return x + self.down(jax.nn.silu(self.up(self.norm(x))))

    def norm(self, x):
        return x * lax.rsqrt(jnp.square(x).mean(axis=-1, keepdims=True) + EPS) * self.scale[...]
