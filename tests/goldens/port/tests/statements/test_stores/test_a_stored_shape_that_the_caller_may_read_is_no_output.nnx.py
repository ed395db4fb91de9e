"""JAX port of Shapes (statements/test_stores.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Shapes(nnx.Module):
    """It notes a shape for nobody.

    Shapes (statements/test_stores.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return self.fc(x).reshape(*x.shape)

# ---- the next port of this test ----
"""JAX port of Shapes (statements/test_stores.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Shapes(nnx.Module):
    """It notes a shape for nobody.

    Shapes (statements/test_stores.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return self.fc(x).reshape(*x.shape)
