"""JAX port of Model (ports/tokens.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- ids.shape[0] <= 4 (tokens.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Embedding, Linear

F = functional.at("2.13")

SMOOTHING = 0.1


class Model(nnx.Module):
    """Model (ports/tokens.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.embedding = Embedding(9, 4, padding_idx=0, dtype=jnp.float64, rngs=rngs)
        self.position = Embedding(8, 4, dtype=jnp.float64, rngs=rngs)
        self.mix = Linear(4, 4, dtype=jnp.float64, rngs=rngs)
        self.head = Linear(4, 9, bias=False, dtype=jnp.float64, rngs=rngs)
        self.head.weight = self.embedding.weight  # tied

    def __call__(self, ids, labels):
        h = self.embedding(ids) + self.position.weight[...][: ids.shape[1]]
        valid = (ids != 0)[..., None]
        mean = jnp.clip(valid.sum(axis=1, keepdims=True), min=1)
        mean = (h * valid).sum(axis=1, keepdims=True) / mean
        h = jnp.tanh(self.mix(h + mean))
        # large batches are averaged, to save memory
        assert ids.shape[0] <= 4, (
            "this port holds for ids.shape[0] <= 4: torch takes another branch otherwise "
            "(tokens.py:0)"
        )
        logits = self.head(h)
        y = logits.reshape(-1, logits.shape[2])
        return F.cross_entropy(y, labels.reshape(-1), label_smoothing=SMOOTHING)
