"""JAX port of Twice (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class Twice(nnx.Module):
    """Twice (calls/test_iteration_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.trunk = nnx.Sequential(Linear(3, 4, rngs=rngs), BatchNorm1d(4))
        self.branches = nnx.List([BatchNorm1d(4) for _ in range(2)])

    def __call__(self, x):
        a, b = [self.trunk(v) for v in (x, x * x)]
        return jnp.concatenate([branch(a * b) for branch in self.branches], axis=-1)
