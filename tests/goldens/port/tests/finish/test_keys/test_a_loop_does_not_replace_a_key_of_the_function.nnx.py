"""JAX port of Heads (finish/test_keys.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Dropout, Linear


class Heads(nnx.Module):
    """One dropout draws in each iteration of a loop, and once more after it.

    Heads (finish/test_keys.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.q = nnx.List([Linear(3, 3, rngs=rngs) for _ in range(2)])
        self.k = nnx.List([Linear(3, 3, rngs=rngs) for _ in range(2)])
        self.drop = Dropout(rngs=rngs)

    def __call__(self, x):
        heads = []
        for n in range(2):
            head = self.q[n](x) * self.k[n](x)
            dropped = self.drop(head)
            heads.append(dropped)
        return self.drop(jnp.stack(heads).mean(axis=0))

# ---- the next port of this test ----
"""JAX port of Heads (finish/test_keys.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Dropout, Linear


class Heads(nnx.Module):
    """One dropout draws in each iteration of a loop, and once more after it.

    Heads (finish/test_keys.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.q = nnx.List([Linear(3, 3, rngs=rngs) for _ in range(2)])
        self.k = nnx.List([Linear(3, 3, rngs=rngs) for _ in range(2)])
        self.drop = Dropout(rngs=rngs)

    def __call__(self, x):
        heads = []
        for n in range(2):
            head = self.q[n](x) * self.k[n](x)
            dropped = self.drop(head)
            heads.append(dropped)
        return self.drop(jnp.stack(heads).mean(axis=0))
