"""JAX port of Counted (expressions/test_positions.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Counted(nnx.Module):
    """The number is computed with and stored, and begins no slice.

    Counted (expressions/test_positions.py:0).

    `jaxgrad.nnx.load_state_dict` sets `queue`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.queue = nnx.BatchStat(jnp.empty((3, 8), jnp.float32))
        self.ptr = nnx.BatchStat(jnp.zeros(1, int))
        self.linear = Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        step = self.ptr[...][0]
        step += 1
        self.ptr[...] = self.ptr[...].at[0].set(step)
        return self.linear(x)
