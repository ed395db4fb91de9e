"""JAX port of TextClassifier (port_collection/recurrent.py), written by jaxgrad.port for torch
  2.13.
"""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Embedding, GRU, Linear


class TextClassifier(nnx.Module):
    """TextClassifier (port_collection/recurrent.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.embedding = Embedding(8, 4, padding_idx=0, rngs=rngs)
        self.encoder = GRU(4, 3, num_layers=2, batch_first=True, bidirectional=True, rngs=rngs)
        self.pool = AttentivePooling()
        self.out = Linear(6, 2, rngs=rngs)

    def __call__(self, tokens, lengths):
        mask = jnp.arange(tokens.shape[1])[None, :] < lengths[:, None]
        states, _ = self.encoder(self.embedding(tokens))
        return self.out(self.pool(states, mask))


class AttentivePooling(nnx.Module):
    """AttentivePooling (port_collection/recurrent.py:0).

    `jaxgrad.nnx.load_state_dict` sets `query`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self):
        self.query = nnx.Param(jnp.empty(6, jnp.float32))

    def __call__(self, states, mask):
        scores = states @ self.query[...] / math.sqrt(states.shape[-1])
        scores = jnp.where(~mask, jnp.finfo(scores.dtype).min, scores)
        return (jnp.expand_dims(jax.nn.softmax(scores, axis=-1), -1) * states).sum(axis=1)
