"""JAX port of Unneeded (statements/test_size_branches.py), written by jaxgrad.port for torch 2.13.
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Unneeded(nnx.Module):
    """Unneeded (statements/test_size_branches.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return self.linear(x)
