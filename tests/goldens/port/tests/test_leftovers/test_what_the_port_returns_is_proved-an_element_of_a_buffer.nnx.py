"""JAX port of Kind (port/test_leftovers.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class Kind(nnx.Module):
    """Kind (port/test_leftovers.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.mean = nnx.BatchStat(jnp.zeros(2, jnp.float32))
        self.zero = nnx.BatchStat(jnp.zeros((), jnp.float32))
        self.count = nnx.BatchStat(jnp.zeros((), int))
        self.ready = nnx.BatchStat(jnp.zeros((), bool))
        self.phase = nnx.BatchStat(jnp.ones(2, jnp.complex64))
        self.unsaved = nnx.Cache(jnp.zeros(2, jnp.float32))
        self.fc = Linear(3, 2, rngs=rngs)
        self.norm = BatchNorm1d(2)
        self.target = Linear(3, 2, rngs=rngs)

    def an_element_of_a_buffer(self, x):
        y = self.fc(x)
        self.mean[...] = self.mean[...].at[0].set(3.0)
        return y
