"""JAX port of Heads (merging/test_numbers.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import Linear


class Heads(nnx.Module):
    """Heads (merging/test_numbers.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.parts = 4
        self.head_dim = 2
        self.fc = Linear(8, 8, rngs=rngs)

    def __call__(self, x):
        b, n, _ = x.shape
        x = self.fc(x).reshape(b, n, self.parts, self.head_dim)
        x = x * self.head_dim**-0.5
        x = jax.nn.softmax(x, axis=-1) + 1e-6
        return x.reshape(b, n, self.parts * self.head_dim)

# ---- the next port of this test ----
"""JAX port of Heads (merging/test_numbers.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import Linear


class Heads(nnx.Module):
    """Heads (merging/test_numbers.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.parts = 4
        self.head_dim = 2
        self.fc = Linear(8, 8, rngs=rngs)

    def __call__(self, x):
        b, n, _ = x.shape
        x = self.fc(x).reshape(b, n, self.parts, self.head_dim)
        x = x * self.head_dim**-0.5
        x = jax.nn.softmax(x, axis=-1) + 1e-6
        return x.reshape(b, n, self.parts * self.head_dim)
