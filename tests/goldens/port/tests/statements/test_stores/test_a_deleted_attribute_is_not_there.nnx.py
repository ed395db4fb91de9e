"""JAX port of Deleted (statements/test_stores.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Deleted(nnx.Module):
    """Deleted (statements/test_stores.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        hidden = self.fc(x) * 2.0
        y = hidden * 2
        return y * y * 3.0

# ---- the next port of this test ----
"""JAX port of Deleted (statements/test_stores.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Deleted(nnx.Module):
    """Deleted (statements/test_stores.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        hidden = self.fc(x) * 2.0
        y = hidden * 2
        return y * y * 3.0
