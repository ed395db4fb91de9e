"""JAX port of Heads (finish/test_letters.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Heads(nnx.Module):
    """Heads (finish/test_letters.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.q = Linear(4, 8, rngs=rngs)
        self.k = Linear(4, 8, rngs=rngs)

    def __call__(self, x):
        q, k = [layer(x).reshape(*x.shape[:2], 2, 4).swapaxes(1, 2) for layer in (self.q, self.k)]
        return self.attended(self.scores(q, k))

    def scores(self, q, k):
        scores = q @ k.swapaxes(2, 3)
        return scores - lax.stop_gradient(scores).mean(axis=-1, keepdims=True)

    def attended(self, weights):
        weights = jax.nn.softmax(weights, axis=-1)
        return weights.sum(axis=1)
