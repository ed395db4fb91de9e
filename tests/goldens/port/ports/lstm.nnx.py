"""JAX port of Tagger (ports/lstm.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import LSTM, LayerNorm, Linear


class Tagger(nnx.Module):
    """Label each step of a sequence; the state is detached between windows.

    Tagger (ports/lstm.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.norm = LayerNorm(6, dtype=jnp.float64)
        self.lstm = LSTM(
            6, 8, num_layers=2, batch_first=True, dropout=0.1, dtype=jnp.float64, rngs=rngs
        )
        self.classifier = Linear(8, 4, dtype=jnp.float64, rngs=rngs)

    def __call__(self, x):
        x = self.norm(x)
        outputs = []
        out, pair = self.lstm(x, None)
        h, c = pair
        outputs.append(out)
        return self.classifier(jnp.concatenate(outputs, axis=1)), h
