"""JAX port of Columns (values/test_computed.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class Columns(nnx.Module):
    """Columns (values/test_computed.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.norm = BatchNorm1d(3)
        self.a = Linear(3, 2, rngs=rngs)
        self.b = Linear(3, 2, rngs=rngs)
        self.c = Linear(2, 5, rngs=rngs)

    def __call__(self, x, y):
        outs = [(self.c(x[:, :2]), x), (self.c(y[:, :2]), y)]
        return [jnp.concatenate(v, axis=0) for v in zip(*outs)]
