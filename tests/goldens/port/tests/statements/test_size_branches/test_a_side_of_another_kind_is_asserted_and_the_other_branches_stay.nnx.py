"""JAX port of OneSideOnly (statements/test_size_branches.py), written by jaxgrad.port for torch
  2.13.

The torch program branches on these tests; the port assumes that they hold:
- x.shape[1] > 4 (test_size_branches.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class OneSideOnly(nnx.Module):
    """OneSideOnly (statements/test_size_branches.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        assert x.shape[1] > 4, (
            "this port holds for x.shape[1] > 4: torch takes another branch otherwise "
            "(test_size_branches.py:0)"
        )
        y = self.linear(x)
        if x.shape[0] > 1:
            y = y * 2
        return y
