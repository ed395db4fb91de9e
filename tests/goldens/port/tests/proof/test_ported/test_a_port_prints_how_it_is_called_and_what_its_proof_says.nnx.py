"""JAX port of Halves (proof/test_ported.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- x.shape[1] > 2 (test_ported.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Dropout, Linear


class Halves(nnx.Module):
    """Its branch depends on a size, and its dropout on the mode.

    Halves (proof/test_ported.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)
        self.drop = Dropout(rngs=rngs)

    def __call__(self, x):
        assert x.shape[1] > 2, (
            "this port holds for x.shape[1] > 2: torch takes another branch otherwise "
            "(test_ported.py:0)"
        )
        return self.drop(self.fc(x))
