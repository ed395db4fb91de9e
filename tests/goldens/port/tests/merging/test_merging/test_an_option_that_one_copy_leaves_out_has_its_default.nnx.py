"""JAX port of Stack (merging/test_merging.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Conv1d


class Stack(nnx.Module):
    """Stack (merging/test_merging.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Unit(stride=1, padding=0, groups=1, rngs=rngs)
        self.second = Unit(stride=1, padding=1, groups=2, rngs=rngs)
        self.third = Unit(stride=2, padding=0, groups=1, rngs=rngs)

    def __call__(self, x):
        return self.third(self.second(self.first(x)))


class Unit(nnx.Module):
    """Unit (merging/test_merging.py:0)."""

    def __init__(self, stride, padding, groups, *, rngs: nnx.Rngs):
        setattr(
            self, "0", Conv1d(2, 2, 1, stride=stride, padding=padding, groups=groups, rngs=rngs)
        )

    def __call__(self, x):
        x = getattr(self, "0")(x)
        return jnp.tanh(x)

# ---- the next port of this test ----
"""JAX port of Stack (merging/test_merging.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Conv1d


class Stack(nnx.Module):
    """Stack (merging/test_merging.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Unit(stride=1, padding=0, groups=1, rngs=rngs)
        self.second = Unit(stride=1, padding=1, groups=2, rngs=rngs)
        self.third = Unit(stride=2, padding=0, groups=1, rngs=rngs)

    def __call__(self, x):
        return self.third(self.second(self.first(x)))


class Unit(nnx.Module):
    """Unit (merging/test_merging.py:0)."""

    def __init__(self, stride, padding, groups, *, rngs: nnx.Rngs):
        setattr(
            self, "0", Conv1d(2, 2, 1, stride=stride, padding=padding, groups=groups, rngs=rngs)
        )

    def __call__(self, x):
        x = getattr(self, "0")(x)
        return jnp.tanh(x)
