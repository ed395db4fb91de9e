"""JAX port of Data (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Data(nnx.Module):
    """Data (port_collection/behaviours.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        h = self.inner(x)
        return self.outer(h - lax.stop_gradient(h).mean(axis=-1, keepdims=True))
