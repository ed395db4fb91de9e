"""JAX port of NoTurns (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- len(range(abs(x.shape[1] - 4))) == 0 (test_lengths.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class NoTurns(nnx.Module):
    """NoTurns (values/test_lengths.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        y = self.linear(x)
        assert len(range(abs(x.shape[1] - 4))) == 0, (
            "this port holds for 0 elements, as in the example"
        )
        return y
