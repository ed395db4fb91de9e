"""JAX port of Picks (expressions/test_indexing.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx


class Picks(nnx.Module):
    """Picks (expressions/test_indexing.py:0)."""

    def __init__(self):
        self.rows = Rows()

    def __call__(self, x):
        return x @ self.rows.__getitem___2().T + self.rows.__getitem__()


class Rows(nnx.Module):
    """A module with elements of its own.

    Rows (expressions/test_indexing.py:0).

    `jaxgrad.nnx.load_state_dict` sets `weight`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self):
        self.weight = nnx.Param(jnp.empty((4, 4), jnp.float32))

    def __getitem___2(self):
        return self.weight[...][1:3] * 2

    def __getitem__(self):
        return self.weight[...][0, :2] * 2

# ---- the next port of this test ----
"""JAX port of Picks (expressions/test_indexing.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx


class Picks(nnx.Module):
    """Picks (expressions/test_indexing.py:0)."""

    def __init__(self):
        self.rows = Rows()

    def __call__(self, x):
        return x @ self.rows.__getitem___2().T + self.rows.__getitem__()


class Rows(nnx.Module):
    """A module with elements of its own.

    Rows (expressions/test_indexing.py:0).

    `jaxgrad.nnx.load_state_dict` sets `weight`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self):
        self.weight = nnx.Param(jnp.empty((4, 4), jnp.float32))

    def __getitem___2(self):
        return self.weight[...][1:3] * 2

    def __getitem__(self):
        return self.weight[...][0, :2] * 2
