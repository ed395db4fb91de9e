"""JAX port of Shifts (merging/test_numbers.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx


class Shifts(nnx.Module):
    """Shifts (merging/test_numbers.py:0)."""

    def __init__(self):
        self.first = Shift(offset=-0.5, axis=-1)
        self.second = Shift(offset=-0.25, axis=-2)

    def __call__(self, x):
        return self.second(self.first(x))


class Shift(nnx.Module):
    """Shift (merging/test_numbers.py:0)."""

    def __init__(self, offset, axis):
        self.offset = offset
        self.axis = axis
        self.weight = nnx.Param(jnp.ones(8, jnp.float32))

    def __call__(self, x):
        total = -1
        for _ in range(3):
            total = total + x.sum(axis=self.axis, keepdims=True)
        return x * self.weight[...] + self.offset + total

# ---- the next port of this test ----
"""JAX port of Shifts (merging/test_numbers.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx


class Shifts(nnx.Module):
    """Shifts (merging/test_numbers.py:0)."""

    def __init__(self):
        self.first = Shift(offset=-0.5, axis=-1)
        self.second = Shift(offset=-0.25, axis=-2)

    def __call__(self, x):
        return self.second(self.first(x))


class Shift(nnx.Module):
    """Shift (merging/test_numbers.py:0)."""

    def __init__(self, offset, axis):
        self.offset = offset
        self.axis = axis
        self.weight = nnx.Param(jnp.ones(8, jnp.float32))

    def __call__(self, x):
        total = -1
        for _ in range(3):
            total = total + x.sum(axis=self.axis, keepdims=True)
        return x * self.weight[...] + self.offset + total
