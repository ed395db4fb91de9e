"""JAX port of Rectified (calls/test_memory.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import Linear


class Rectified(nnx.Module):
    """In torch `h` is `y` after the call, because the layer changes it in place.

    Rectified (calls/test_memory.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        h = jax.nn.relu(h)
        return h * 3

# ---- the next port of this test ----
"""JAX port of Rectified (calls/test_memory.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import Linear


class Rectified(nnx.Module):
    """In torch `h` is `y` after the call, because the layer changes it in place.

    Rectified (calls/test_memory.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        h = jax.nn.relu(h)
        return h * 3
