"""JAX port of Heads (nnx/test_port.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import Linear


class Heads(nnx.Module):
    """Heads (nnx/test_port.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.query = Linear(8, 8, rngs=rngs)
        self.key = Linear(8, 8, rngs=rngs)
        self.value = Linear(8, 8, rngs=rngs)

    def __call__(self, x):
        b, n, d = x.shape
        q = self.query(x).reshape(b, n, 2, d // 2).swapaxes(1, 2)
        k = self.key(x).reshape(b, n, 2, d // 2).swapaxes(1, 2)
        v = self.value(x).reshape(b, n, 2, d // 2).swapaxes(1, 2)
        return jax.nn.softmax(q @ k.mT / 2.0, axis=-1) @ v
