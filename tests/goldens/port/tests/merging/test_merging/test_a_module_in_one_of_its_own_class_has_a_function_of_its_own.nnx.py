"""JAX port of Tree (merging/test_merging.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Tree(nnx.Module):
    """A module that holds a smaller one of its own class.

    Tree (merging/test_merging.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = 2.0
        self.fc = Linear(3, 3, rngs=rngs)
        self.inner = Tree2(rngs=rngs)

    def __call__(self, x):
        x = self.inner(x)
        return jnp.sin(self.fc(x)) * self.scale


class Tree2(nnx.Module):
    """A module that holds a smaller one of its own class.

    Tree (merging/test_merging.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = 0.5
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return jnp.sin(self.fc(x)) * self.scale

# ---- the next port of this test ----
"""JAX port of Tree (merging/test_merging.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Tree(nnx.Module):
    """A module that holds a smaller one of its own class.

    Tree (merging/test_merging.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = 2.0
        self.fc = Linear(3, 3, rngs=rngs)
        self.inner = Tree2(rngs=rngs)

    def __call__(self, x):
        x = self.inner(x)
        return jnp.sin(self.fc(x)) * self.scale


class Tree2(nnx.Module):
    """A module that holds a smaller one of its own class.

    Tree (merging/test_merging.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = 0.5
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return jnp.sin(self.fc(x)) * self.scale

# ---- the next port of this test ----
"""JAX port of Tree (merging/test_merging.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Tree(nnx.Module):
    """A module that holds a smaller one of its own class.

    Tree (merging/test_merging.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = 2.0
        self.fc = Linear(3, 3, rngs=rngs)
        self.inner = Tree3(rngs=rngs)

    def __call__(self, x):
        x = self.inner(x)
        return jnp.sin(self.fc(x)) * self.scale


class Tree3(nnx.Module):
    """A module that holds a smaller one of its own class.

    Tree (merging/test_merging.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = 0.5
        self.fc = Linear(3, 3, rngs=rngs)
        self.inner = Tree2(rngs=rngs)

    def __call__(self, x):
        x = self.inner(x)
        return jnp.sin(self.fc(x)) * self.scale


class Tree2(nnx.Module):
    """A module that holds a smaller one of its own class.

    Tree (merging/test_merging.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = 0.5
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return jnp.sin(self.fc(x)) * self.scale
