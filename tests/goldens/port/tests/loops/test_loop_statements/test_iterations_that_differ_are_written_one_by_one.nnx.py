"""JAX port of Pairs (loops/test_loop_statements.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm1d


class Pairs(nnx.Module):
    """Pairs (loops/test_loop_statements.py:0)."""

    def __init__(self):
        self.pairs = nnx.List(
            [
                nnx.List([BatchNorm1d(3), Normed(scale=2.0)]),
                nnx.List([BatchNorm1d(3), Normed(scale=3.0)]),
            ]
        )

    def __call__(self, x):
        x = self.pairs[0][0](x)
        x = self.pairs[0][1](x)
        x = self.pairs[1][0](x)
        return self.pairs[1][1](x)


class Normed(nnx.Module):
    """Normed (loops/test_loop_statements.py:0)."""

    def __init__(self, scale):
        self.scale = scale
        self.norm = BatchNorm1d(3)

    def __call__(self, x):
        return jnp.sin(self.norm(x)) * self.scale

# ---- the next port of this test ----
"""JAX port of Pairs (loops/test_loop_statements.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm1d


class Pairs(nnx.Module):
    """Pairs (loops/test_loop_statements.py:0)."""

    def __init__(self):
        self.pairs = nnx.List(
            [
                nnx.List([BatchNorm1d(3), Normed(scale=2.0)]),
                nnx.List([BatchNorm1d(3), Normed(scale=3.0)]),
            ]
        )

    def __call__(self, x):
        x = self.pairs[0][0](x)
        x = self.pairs[0][1](x)
        x = self.pairs[1][0](x)
        return self.pairs[1][1](x)


class Normed(nnx.Module):
    """Normed (loops/test_loop_statements.py:0)."""

    def __init__(self, scale):
        self.scale = scale
        self.norm = BatchNorm1d(3)

    def __call__(self, x):
        return jnp.sin(self.norm(x)) * self.scale
