"""JAX port of TensorHook (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13.
"""

import jaxgrad
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class TensorHook(nnx.Module):
    """TensorHook (port_collection/behaviours.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        h = self.inner(x)
        h = jaxgrad.hook(h, lambda grad: F.clamp(grad, min=-0.1, max=0.1))
        return self.outer(h)
