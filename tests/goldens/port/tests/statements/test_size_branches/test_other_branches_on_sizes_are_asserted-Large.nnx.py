"""JAX port of Large (statements/test_size_branches.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- y.shape[0] <= 64 (test_size_branches.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Large(nnx.Module):
    """Large (statements/test_size_branches.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        y = self.linear(x)
        assert y.shape[0] <= 64, (
            "this port holds for y.shape[0] <= 64: torch takes another branch otherwise "
            "(test_size_branches.py:0)"
        )
        return y
