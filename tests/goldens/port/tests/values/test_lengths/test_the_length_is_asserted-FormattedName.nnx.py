"""JAX port of FormattedName (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- x.shape[1] == 4 (test_lengths.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class FormattedName(nnx.Module):
    """FormattedName (values/test_lengths.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.head_3 = Linear(4, 4, rngs=rngs)
        self.head_4 = Linear(4, 4, rngs=rngs)
        self.head_6 = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        assert x.shape[1] == 4, "this port holds for x.shape[1] == 4, as in the example"
        return self.head_4(x)
