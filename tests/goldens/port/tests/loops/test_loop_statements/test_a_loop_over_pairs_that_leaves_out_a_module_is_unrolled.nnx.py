"""JAX port of Firsts (loops/test_loop_statements.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm1d


class Firsts(nnx.Module):
    """Firsts (loops/test_loop_statements.py:0)."""

    def __init__(self):
        self.pairs = nnx.List([nnx.List([BatchNorm1d(3), Normed()]) for _ in range(2)])

    def __call__(self, x):
        for norm, _ in self.pairs:
            x = jnp.sin(norm(x))
        return x


class Normed(nnx.Module):
    """Normed (loops/test_loop_statements.py:0)."""

    def __init__(self):
        self.norm = BatchNorm1d(3)

# ---- the next port of this test ----
"""JAX port of Firsts (loops/test_loop_statements.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm1d


class Firsts(nnx.Module):
    """Firsts (loops/test_loop_statements.py:0)."""

    def __init__(self):
        self.pairs = nnx.List([nnx.List([BatchNorm1d(3), Normed()]) for _ in range(2)])

    def __call__(self, x):
        for norm, _ in self.pairs:
            x = jnp.sin(norm(x))
        return x


class Normed(nnx.Module):
    """Normed (loops/test_loop_statements.py:0)."""

    def __init__(self):
        self.norm = BatchNorm1d(3)
