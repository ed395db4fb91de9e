"""JAX port of Block (calls/test_recomputation.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Block(nnx.Module):
    """Block (calls/test_recomputation.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 8, rngs=rngs)
        self.second = Linear(8, 4, rngs=rngs)

    def __call__(self, x, scale):
        return nnx.remat(type(self).block)(self, x, scale)

    def block(self, x, scale):
        return self.second(jnp.tanh(self.first(x)) * scale)

# ---- the next port of this test ----
"""JAX port of Block (calls/test_recomputation.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Block(nnx.Module):
    """Block (calls/test_recomputation.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 8, rngs=rngs)
        self.second = Linear(8, 4, rngs=rngs)

    def __call__(self, x, scale):
        return nnx.remat(type(self).block)(self, x, scale)

    def block(self, x, scale):
        return self.second(jnp.tanh(self.first(x)) * scale)
