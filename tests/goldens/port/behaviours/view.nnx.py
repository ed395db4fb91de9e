"""JAX port of View (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from flax import nnx
from jaxgrad.nnx import Linear


class View(nnx.Module):
    """View (port_collection/behaviours.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        h = self.inner(x)
        h = h.at[:, 0].set(h[:, 0] * 3.0)
        return self.outer(h)
