"""JAX port of Packaged (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Packaged(nnx.Module):
    """Unequal parts, `next`, a nested function with `**`, and an object that is called.

    Packaged (calls/test_iteration_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        dtype = self.linear.weight[...].dtype
        batch, length = x.shape[0], x.shape[1]
        first = jnp.array_split(x, 2, axis=1)[0]
        last = jnp.split(x, list(range(2, x.shape[1], 2)), axis=1)[-1]
        zeros = jnp.zeros((batch, 1), dtype=dtype)
        out = scaled(self.linear(first)).sum(axis=1) * 3.0 + last.sum(axis=1) * length
        return out + zeros


def scaled(x, *, factor=2.0):
    """Scaled.__call__ (calls/test_iteration_calls.py:0)."""
    return x * factor

# ---- the next port of this test ----
"""JAX port of Packaged (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Packaged(nnx.Module):
    """Unequal parts, `next`, a nested function with `**`, and an object that is called.

    Packaged (calls/test_iteration_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        dtype = self.linear.weight[...].dtype
        batch, length = x.shape[0], x.shape[1]
        first = jnp.array_split(x, 2, axis=1)[0]
        last = jnp.split(x, list(range(2, x.shape[1], 2)), axis=1)[-1]
        zeros = jnp.zeros((batch, 1), dtype=dtype)
        out = scaled(self.linear(first)).sum(axis=1) * 3.0 + last.sum(axis=1) * length
        return out + zeros


def scaled(x, *, factor=2.0):
    """Scaled.__call__ (calls/test_iteration_calls.py:0)."""
    return x * factor

# ---- the next port of this test ----
"""JAX port of Packaged (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Packaged(nnx.Module):
    """Unequal parts, `next`, a nested function with `**`, and an object that is called.

    Packaged (calls/test_iteration_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        dtype = self.linear.weight[...].dtype
        batch, length = x.shape[0], x.shape[1]
        first = jnp.array_split(x, 2, axis=1)[0]
        last = jnp.split(x, list(range(2, x.shape[1], 2)), axis=1)[-1]
        zeros = jnp.zeros((batch, 1), dtype=dtype)
        out = scaled(self.linear(first)).sum(axis=1) * 3.0 + last.sum(axis=1) * length
        return out + zeros


def scaled(x, *, factor=2.0):
    """Scaled.__call__ (calls/test_iteration_calls.py:0)."""
    return x * factor
