"""JAX port of OtherKinds (statements/test_size_branches.py), written by jaxgrad.port for torch
  2.13.

The torch program branches on these tests; the port assumes that they hold:
- x.shape[0] > 1 (test_size_branches.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class OtherKinds(nnx.Module):
    """OtherKinds (statements/test_size_branches.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        scale = self.linear(x)
        assert x.shape[0] > 1, (
            "this port holds for x.shape[0] > 1: torch takes another branch otherwise "
            "(test_size_branches.py:0)"
        )
        scale = scale.sum(axis=-1)
        return scale.mean()
