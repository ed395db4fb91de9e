"""JAX port of Seq2Seq (port_collection/recurrent.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Embedding, LSTMCell, Linear, RNN

F = functional.at("2.13")


class Seq2Seq(nnx.Module):
    """An encoder and an attentive decoder of cells with teacher forcing.

    Seq2Seq (port_collection/recurrent.py:0).

    JAX unrolls `for t in range(target.shape[1] - 1)`, so compile time grows with the number of
    iterations; use lax.scan for long inputs.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.embed = Embedding(7, 4, rngs=rngs)
        self.encoder = RNN(4, 4, batch_first=True, rngs=rngs)
        self.cell = LSTMCell(8, 4, rngs=rngs)
        self.project = Linear(4, 7, rngs=rngs)

    def __call__(self, source, target):
        memory, last = self.encoder(self.embed(source))
        hidden, cell = last.squeeze(axis=0), jnp.zeros_like(last.squeeze(axis=0))
        loss = 0.0
        for t in range(target.shape[1] - 1):
            y = self.attend(memory, hidden)
            inputs = jnp.concatenate([self.embed(target[:, t]), y], axis=-1)
            hidden, cell = self.cell(inputs, (hidden, cell))
            loss = loss + F.cross_entropy(self.project(hidden), target[:, t + 1])
        return loss / (target.shape[1] - 1)

    def attend(self, memory, hidden):
        weights = jax.nn.softmax(jnp.einsum("bth,bh->bt", memory, hidden), axis=1)
        return jnp.einsum("bt,bth->bh", weights, memory)
