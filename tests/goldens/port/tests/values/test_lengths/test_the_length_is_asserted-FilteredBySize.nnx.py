"""JAX port of FilteredBySize (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- n < x.shape[1] - 1 (test_lengths.py:0)
- n >= x.shape[1] - 1 (test_lengths.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class FilteredBySize(nnx.Module):
    """FilteredBySize (values/test_lengths.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        assert 0 < x.shape[1] - 1, (
            "this port holds for n < x.shape[1] - 1: torch takes another branch otherwise "
            "(test_lengths.py:0)"
        )
        assert 1 < x.shape[1] - 1, (
            "this port holds for n < x.shape[1] - 1: torch takes another branch otherwise "
            "(test_lengths.py:0)"
        )
        assert 2 < x.shape[1] - 1, (
            "this port holds for n < x.shape[1] - 1: torch takes another branch otherwise "
            "(test_lengths.py:0)"
        )
        assert 3 >= x.shape[1] - 1, (
            "this port holds for n >= x.shape[1] - 1: torch takes another branch otherwise "
            "(test_lengths.py:0)"
        )
        return self.linear(x[:, 0]) + self.linear(x[:, 1]) + self.linear(x[:, 2])
