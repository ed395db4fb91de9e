"""JAX port of Net (merging/test_variants.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Net(nnx.Module):
    """Net (merging/test_variants.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Block(rngs=rngs)
        self.second = Block(down=Linear(3, 3, rngs=rngs), rngs=rngs)

    def __call__(self, x):
        return self.second(self.first(x))


class Block(nnx.Module):
    """Block (merging/test_variants.py:0)."""

    def __init__(self, down=nnx.identity, *, rngs: nnx.Rngs):
        self.lin = Linear(3, 3, rngs=rngs)
        self.down = down

    def __call__(self, x):
        identity = self.down(x)
        return jnp.tanh(self.lin(x)) + identity

# ---- the next port of this test ----
"""JAX port of Net (merging/test_variants.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Net(nnx.Module):
    """Net (merging/test_variants.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Block(rngs=rngs)
        self.second = Block(down=Linear(3, 3, rngs=rngs), rngs=rngs)

    def __call__(self, x):
        return self.second(self.first(x))


class Block(nnx.Module):
    """Block (merging/test_variants.py:0)."""

    def __init__(self, down=nnx.identity, *, rngs: nnx.Rngs):
        self.lin = Linear(3, 3, rngs=rngs)
        self.down = down

    def __call__(self, x):
        identity = self.down(x)
        return jnp.tanh(self.lin(x)) + identity
