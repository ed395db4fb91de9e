"""JAX port of TensorHookScale (port_collection/operators.py), written by jaxgrad.port for torch
  2.13.
"""

import jaxgrad
from flax import nnx
from jaxgrad.nnx import Linear


class TensorHookScale(nnx.Module):
    """TensorHookScale (port_collection/operators.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        h = self.inner(x)
        h = jaxgrad.hook(h, lambda grad: 3 * grad)
        return self.outer(h)
