"""JAX port of Bert (ports/bert.py), written by jaxgrad.port for torch 2.13."""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Dropout, Embedding, LayerNorm, Linear

F = functional.at("2.13")

HEADS = 4
SIZE = 4


class Bert(nnx.Module):
    """Bert (ports/bert.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.embeddings = BertEmbeddings(rngs=rngs)
        self.layer = nnx.List([BertLayer(rngs=rngs) for _ in range(2)])
        self.pooler = nnx.Sequential(Linear(16, 16, dtype=jnp.float64, rngs=rngs), jnp.tanh)

    def __call__(self, input_ids, token_type_ids, attention_mask):
        x = self.embeddings(input_ids, token_type_ids)
        mask = (1.0 - attention_mask[:, None, None, :].astype(x.dtype)) * jnp.finfo(x.dtype).min
        for layer in self.layer:
            x = layer(x, mask)
        return {"last_hidden_state": x, "pooler_output": self.pooler(x[:, 0])}


class BertEmbeddings(nnx.Module):
    """BertEmbeddings (ports/bert.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.word_embeddings = Embedding(19, 16, padding_idx=0, dtype=jnp.float64, rngs=rngs)
        self.position_embeddings = Embedding(9, 16, dtype=jnp.float64, rngs=rngs)
        self.token_type_embeddings = Embedding(2, 16, dtype=jnp.float64, rngs=rngs)
        self.LayerNorm = LayerNorm(16, eps=1e-12, dtype=jnp.float64)
        self.dropout = Dropout(0.1, rngs=rngs)

    def __call__(self, input_ids, token_type_ids):
        positions = jnp.arange(input_ids.shape[1])[None]
        x = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)
        return self.dropout(self.LayerNorm(x + self.position_embeddings(positions)))


class BertLayer(nnx.Module):
    """BertLayer (ports/bert.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.attention = BertSelfAttention(rngs=rngs)
        self.attention_output = BertResidual(in_features=16, rngs=rngs)
        self.intermediate = Linear(16, 32, dtype=jnp.float64, rngs=rngs)
        self.output = BertResidual(in_features=32, rngs=rngs)

    def __call__(self, x, mask):
        x = self.attention_output(self.attention(x, mask), x)
        return self.output(F.gelu(self.intermediate(x)), x)


class BertSelfAttention(nnx.Module):
    """BertSelfAttention (ports/bert.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.query = Linear(16, 16, dtype=jnp.float64, rngs=rngs)
        self.key = Linear(16, 16, dtype=jnp.float64, rngs=rngs)
        self.value = Linear(16, 16, dtype=jnp.float64, rngs=rngs)
        self.dropout = Dropout(0.1, rngs=rngs)

    def __call__(self, x, mask):
        y = self.query(x)
        y_2 = self.key(x)
        y_3 = self.value(x)
        q = y.reshape(*y.shape[:2], HEADS, SIZE).transpose(0, 2, 1, 3)
        k = y_2.reshape(*y_2.shape[:2], HEADS, SIZE).transpose(0, 2, 1, 3)
        v = y_3.reshape(*y_3.shape[:2], HEADS, SIZE).transpose(0, 2, 1, 3)
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(SIZE) + mask
        context = self.dropout(jax.nn.softmax(scores, axis=-1)) @ v
        return context.transpose(0, 2, 1, 3).reshape(*x.shape)


class BertResidual(nnx.Module):
    """BertResidual (ports/bert.py:0)."""

    def __init__(self, in_features, *, rngs: nnx.Rngs):
        self.dense = Linear(in_features, 16, dtype=jnp.float64, rngs=rngs)
        self.LayerNorm = LayerNorm(16, eps=1e-12, dtype=jnp.float64)
        self.dropout = Dropout(0.1, rngs=rngs)

    def __call__(self, hidden, x):
        return self.LayerNorm(self.dropout(self.dense(hidden)) + x)
