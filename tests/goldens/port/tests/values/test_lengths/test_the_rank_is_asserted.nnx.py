"""JAX port of TakesTwoRanks (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- x.ndim == 3 (test_lengths.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class TakesTwoRanks(nnx.Module):
    """TakesTwoRanks (values/test_lengths.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        assert x.ndim == 3, "this port holds for x.ndim == 3, as in the example"
        return self.linear(x).sum(axis=1)
