"""JAX port of Reading (expressions/test_positions.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- end <= self.queue.shape[0] (test_positions.py:0)
- end <= self.queue.shape[0] (test_positions.py:0)

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- x.detach() shares the memory of x in torch; here it is a value of its own.
"""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Reading(nnx.Module):
    """The oldest keys are read, from a place that has a name for its end.

    Reading (expressions/test_positions.py:0).

    `jaxgrad.nnx.load_state_dict` sets `queue`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.queue = nnx.BatchStat(jnp.empty((8, 3), jnp.float32))
        self.ptr = nnx.BatchStat(jnp.zeros(1, int))
        self.linear = Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        keys = self.linear(x)
        start = self.ptr[...][0]
        old = lax.dynamic_slice_in_dim(self.queue[...], start, x.shape[0], axis=0)
        out = keys * old
        y = lax.stop_gradient(keys)
        self.queue[...] = lax.dynamic_update_slice_in_dim(self.queue[...], y, start, axis=0)
        self.ptr[...] = F.remainder(self.ptr[...] + 2, 8)
        return out

# ---- the next port of this test ----
"""JAX port of Reading (expressions/test_positions.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- end <= self.queue.shape[0] (test_positions.py:0)
- end <= self.queue.shape[0] (test_positions.py:0)

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- x.detach() shares the memory of x in torch; here it is a value of its own.
"""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Reading(nnx.Module):
    """The oldest keys are read, from a place that has a name for its end.

    Reading (expressions/test_positions.py:0).

    `jaxgrad.nnx.load_state_dict` sets `queue`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.queue = nnx.BatchStat(jnp.empty((8, 3), jnp.float32))
        self.ptr = nnx.BatchStat(jnp.zeros(1, int))
        self.linear = Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        keys = self.linear(x)
        start = self.ptr[...][0]
        old = lax.dynamic_slice_in_dim(self.queue[...], start, x.shape[0], axis=0)
        out = keys * old
        y = lax.stop_gradient(keys)
        self.queue[...] = lax.dynamic_update_slice_in_dim(self.queue[...], y, start, axis=0)
        self.ptr[...] = F.remainder(self.ptr[...] + 2, 8)
        return out
