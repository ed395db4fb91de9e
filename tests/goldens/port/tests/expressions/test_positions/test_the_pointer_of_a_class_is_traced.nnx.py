"""JAX port of Queue (expressions/test_positions.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- ptr + n <= self.queue.shape[1] (test_positions.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Queue(nnx.Module):
    """A queue of the last keys, and the place of the next one.

    Queue (expressions/test_positions.py:0).

    `jaxgrad.nnx.load_state_dict` sets `queue`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.queue = nnx.BatchStat(jnp.empty((3, 8), jnp.float32))
        self.ptr = nnx.BatchStat(jnp.zeros(1, int))
        self.linear = Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        keys = self.linear(x)
        out = keys @ lax.stop_gradient(self.queue[...])
        self.enqueue(F.normalize(keys))
        return out

    def enqueue(self, keys):
        enqueue(self, keys)


def enqueue(module, keys):
    """enqueue (expressions/test_positions.py:0)."""
    n, ptr = keys.shape[0], module.ptr[...][0]
    module.queue[...] = lax.stop_gradient(
        lax.dynamic_update_slice_in_dim(module.queue[...], keys.T, ptr, axis=1)
    )
    module.ptr[...] = module.ptr[...].at[0].set(F.remainder(ptr + n, module.queue[...].shape[1]))
