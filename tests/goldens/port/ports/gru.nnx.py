"""JAX port of GRUClassifier (ports/gru.py), written by jaxgrad.port for torch 2.13."""

import math

import jax
import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jaxgrad.nnx import Embedding, GRU, Linear

WIDTH = 8
SHRINK = 0.1


class GRUClassifier(nnx.Module):
    """GRUClassifier (ports/gru.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.embedding = Embedding(13, 8, padding_idx=0, dtype=jnp.float64, rngs=rngs)
        self.shrink = ShrinkGradient()
        self.gru = GRU(
            8, 8, num_layers=2, batch_first=True, dropout=0.1, dtype=jnp.float64, rngs=rngs
        )
        self.attention = Linear(8, 1, dtype=jnp.float64, rngs=rngs)
        self.out = Linear(8, 4, dtype=jnp.float64, rngs=rngs)

    def __call__(self, tokens):
        x = self.shrink(self.embedding(tokens)) * math.sqrt(WIDTH)
        out, last = self.gru(x)
        scores = jnp.where(tokens == 0, -1e9, self.attention(out).squeeze(axis=-1))
        pooled = jnp.einsum("bt,btd->bd", jax.nn.softmax(scores, axis=1), out)
        return self.out(pooled), last


class ShrinkGradient(nnx.Module):
    """ShrinkGradient (ports/gru.py:0)."""

    def __call__(self, x):
        return Shrink(x)


@jaxgrad.from_function
class Shrink:
    """Scale the gradient, which stabilises the training of embeddings.

    Shrink (ports/gru.py:0).
    """

    @staticmethod
    def forward(ctx, x):
        return x.reshape(x.shape)

    @staticmethod
    def backward(ctx, grad):
        return SHRINK * grad
