"""JAX port of Scores (finish/test_shapes.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Embedding, Linear


class Scores(nnx.Module):
    """Scores (finish/test_shapes.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.a = Linear(3, 4, rngs=rngs)
        self.b = Linear(4, 3, rngs=rngs)
        self.embed = Embedding(7, 3, rngs=rngs)

    def __call__(self, x, ids):
        h = self.twice(x) + self.twice(self.embed(ids))
        return {"h": h, "same": ids == 2}, self.flat(x), self.flat(h.T)

    def twice(self, x):
        return self.b(jnp.tanh(self.a(x)))

    def flat(self, x):
        return jnp.sin(x).sum(axis=1)
