"""JAX port of Packed (functions/test_functions.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- (positions.diff() == 1).all() (test_functions.py:0)
- x.shape[-1] == 4 (test_functions.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Packed(nnx.Module):
    """A test on positions, which depend on sizes alone, and a `return` inside of a loop.

    Packed (functions/test_functions.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(4, 4, rngs=rngs) for _ in range(2)])

    def __call__(self, x):
        x = x * 2
        x = self.layers[0](x)
        assert x.shape[-1] == 4, (
            "this port holds for x.shape[-1] == 4: torch takes another branch otherwise "
            "(test_functions.py:0)"
        )
        return x
