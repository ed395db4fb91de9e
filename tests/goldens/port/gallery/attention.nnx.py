"""JAX port of Attention (models/attention.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Attention(nnx.Module):
    """Attention (models/attention.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.heads = 2
        self.qkv = Linear(8, 24, rngs=rngs)
        self.out = Linear(8, 8, rngs=rngs)

    def __call__(self, x):
        batch, length, width = x.shape
        # queries, keys and values at once
        qkv = self.qkv(x).reshape(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.transpose(2, 0, 3, 1, 4)
        causal = jnp.tril(jnp.ones((length, length), dtype=bool))
        scores = q @ k.swapaxes(-2, -1) / q.shape[-1] ** 0.5
        weights = jax.nn.softmax(jnp.where(~causal, -jnp.inf, scores), axis=-1)
        return self.out((weights @ v).swapaxes(1, 2).reshape(batch, length, width))
