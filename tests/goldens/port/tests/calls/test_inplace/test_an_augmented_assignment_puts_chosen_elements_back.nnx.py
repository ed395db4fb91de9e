"""JAX port of Chosen (calls/test_inplace.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Chosen(nnx.Module):
    """The rows that a tensor chooses are a copy, which Python puts back after `+=`.

    Chosen (calls/test_inplace.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h, rows = self.first(x), jnp.array([0, 2])
        h = h.at[rows].set(h[rows] * 3)
        h = h.at[rows, rows].set(h[rows, rows] + 1)
        h = jnp.where(h > 0.5, h - 2, h)
        h = h.at[:, 1].set(h[:, 1] + 4)
        return self.second(h)

# ---- the next port of this test ----
"""JAX port of Chosen (calls/test_inplace.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Chosen(nnx.Module):
    """The rows that a tensor chooses are a copy, which Python puts back after `+=`.

    Chosen (calls/test_inplace.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h, rows = self.first(x), jnp.array([0, 2])
        h = h.at[rows].set(h[rows] * 3)
        h = h.at[rows, rows].set(h[rows, rows] + 1)
        h = jnp.where(h > 0.5, h - 2, h)
        h = h.at[:, 1].set(h[:, 1] + 4)
        return self.second(h)

# ---- the next port of this test ----
"""JAX port of Chosen (calls/test_inplace.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Chosen(nnx.Module):
    """The rows that a tensor chooses are a copy, which Python puts back after `+=`.

    Chosen (calls/test_inplace.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h, rows = self.first(x), jnp.array([0, 2])
        h = h.at[rows].set(h[rows] * 3)
        h = h.at[rows, rows].set(h[rows, rows] + 1)
        h = jnp.where(h > 0.5, h - 2, h)
        h = h.at[:, 1].set(h[:, 1] + 4)
        return self.second(h)
