"""JAX port of Stack (merging/test_merging.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Conv1d


class Stack(nnx.Module):
    """Stack (merging/test_merging.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Unit(rngs=rngs)
        self.second = Unit2(rngs=rngs)
        self.third = Unit(rngs=rngs)

    def __call__(self, x):
        return self.third(self.second(self.first(x)))


class Unit(nnx.Module):
    """Unit (merging/test_merging.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", Conv1d(2, 2, 1, rngs=rngs))

    def __call__(self, x):
        x = getattr(self, "0")(x)
        return jnp.tanh(x)


class Unit2(nnx.Module):
    """Unit (merging/test_merging.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", Conv1d(2, 2, 1, padding=1, rngs=rngs))

    def __call__(self, x):
        x = getattr(self, "0")(x)
        return jax.nn.relu(x)

# ---- the next port of this test ----
"""JAX port of Stack (merging/test_merging.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Conv1d


class Stack(nnx.Module):
    """Stack (merging/test_merging.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Unit(padding=0, rngs=rngs)
        self.second = nnx.Sequential(Conv1d(2, 2, 1, rngs=rngs), jnp.tanh, jnp.tanh)
        self.third = Unit(padding=1, rngs=rngs)

    def __call__(self, x):
        return self.third(self.second(self.first(x)))


class Unit(nnx.Module):
    """Unit (merging/test_merging.py:0)."""

    def __init__(self, padding, *, rngs: nnx.Rngs):
        setattr(self, "0", Conv1d(2, 2, 1, padding=padding, rngs=rngs))

    def __call__(self, x):
        x = getattr(self, "0")(x)
        return jnp.tanh(x)
