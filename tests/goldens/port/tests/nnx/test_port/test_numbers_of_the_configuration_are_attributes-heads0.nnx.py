"""JAX port of Stack (nnx/test_port.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import Linear


class Stack(nnx.Module):
    """Stack (nnx/test_port.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.alpha = 0.3
        self.norm = Linear(3, 4, rngs=rngs)
        self.blocks = nnx.List([Split(rngs=rngs) for _ in range(2)])

    def __call__(self, x):
        x = self.norm(x)
        for block in self.blocks:
            x = x + self.alpha * block(x)
        return x


class Split(nnx.Module):
    """Split (nnx/test_port.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.heads = 2
        self.scale = 2**-0.5
        self.qkv = Linear(4, 12, rngs=rngs)

    def __call__(self, x, *, sow=2.0):
        q, k, v = self.qkv(x).reshape(x.shape[0], 3, self.heads, -1).transpose(1, 2, 0, 3)
        attention = jax.nn.softmax(q @ k.mT * self.scale, axis=-1)
        return (attention @ v).transpose(1, 0, 2).reshape(*x.shape) / sow

# ---- the next port of this test ----
"""JAX port of Stack (nnx/test_port.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import Linear


class Stack(nnx.Module):
    """Stack (nnx/test_port.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.alpha = 0.3
        self.norm = Linear(3, 4, rngs=rngs)
        self.blocks = nnx.List([Split(rngs=rngs) for _ in range(2)])

    def __call__(self, x):
        x = self.norm(x)
        for block in self.blocks:
            x = x + self.alpha * block(x)
        return x


class Split(nnx.Module):
    """Split (nnx/test_port.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.heads = 2
        self.scale = 2**-0.5
        self.qkv = Linear(4, 12, rngs=rngs)

    def __call__(self, x, *, sow=2.0):
        q, k, v = self.qkv(x).reshape(x.shape[0], 3, self.heads, -1).transpose(1, 2, 0, 3)
        attention = jax.nn.softmax(q @ k.mT * self.scale, axis=-1)
        return (attention @ v).transpose(1, 0, 2).reshape(*x.shape) / sow
