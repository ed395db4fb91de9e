"""JAX port of Biased (finish/test_letters.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import Linear


class Biased(nnx.Module):
    """Biased (finish/test_letters.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.q = Linear(4, 4, rngs=rngs)
        self.k = Linear(4, 4, rngs=rngs)

    def __call__(self, x, memory, mask):
        x = self.attend(x, x, mask[:, :, None] * mask[:, None, :])
        return self.attend(x, memory, memory[:, None, :, 0])

    def attend(self, x, memory, bias):
        scores = self.q(x) @ self.k(memory).mT + bias
        return jax.nn.softmax(scores, axis=-1) @ memory
