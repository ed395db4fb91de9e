"""JAX port of Zipped (loops/test_loops.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Zipped(nnx.Module):
    """Zipped (loops/test_loops.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(4, 4, rngs=rngs) for _ in range(3)])

    def __call__(self, x):
        for layer, other in zip(self.layers, self.others):
            x = layer(x)
            x = jnp.tanh(x)
        return x

# ---- the next port of this test ----
"""JAX port of Zipped (loops/test_loops.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Zipped(nnx.Module):
    """Zipped (loops/test_loops.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(4, 4, rngs=rngs) for _ in range(3)])

    def __call__(self, x):
        for layer, other in zip(self.layers, self.others):
            x = layer(x)
        return x
