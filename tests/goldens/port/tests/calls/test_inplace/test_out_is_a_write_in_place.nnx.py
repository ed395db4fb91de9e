"""JAX port of Out (calls/test_inplace.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Out(nnx.Module):
    """Out (calls/test_inplace.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = lax.stop_gradient(self.first(x))
        h = h * 2
        return self.second(h) + self.first(x)

# ---- the next port of this test ----
"""JAX port of Out (calls/test_inplace.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Out(nnx.Module):
    """Out (calls/test_inplace.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = lax.stop_gradient(self.first(x))
        h = h * 2
        return self.second(h) + self.first(x)
