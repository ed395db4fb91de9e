"""JAX port of Stored (calls/test_elements.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Stored(nnx.Module):
    """An attribute that the module sets is changed in place, by its own name and by another.

    Stored (calls/test_elements.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.first(x)
        h_2 = h + 1
        h_3 = h_2 * 2
        other = h_3
        other += x
        h_4 = other
        return self.second(h_4)
