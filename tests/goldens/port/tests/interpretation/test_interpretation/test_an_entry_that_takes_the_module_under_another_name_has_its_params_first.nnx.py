"""JAX port of Delegates (interpretation/test_interpretation.py), written by jaxgrad.port for torch
  2.13.
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Delegates(nnx.Module):
    """Delegates (interpretation/test_interpretation.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 3, rngs=rngs)

    def __call__(self, picture):
        return self.inner(picture) * 2

# ---- the next port of this test ----
"""JAX port of Delegates (interpretation/test_interpretation.py), written by jaxgrad.port for torch
  2.13.
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Delegates(nnx.Module):
    """Delegates (interpretation/test_interpretation.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 3, rngs=rngs)

    def __call__(self, picture):
        return self.inner(picture) * 2
