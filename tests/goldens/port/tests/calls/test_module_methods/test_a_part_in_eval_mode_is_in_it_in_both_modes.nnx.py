"""JAX port of Frozen (calls/test_module_methods.py), written by jaxgrad.port for torch 2.13.

torch also stores these values on objects; the port leaves them out:
- `training` of drop (test_module_methods.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Dropout, Linear


class Frozen(nnx.Module):
    """Frozen (calls/test_module_methods.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)
        self.drop = Dropout(rngs=rngs)

    def __call__(self, x):
        return self.drop(self.fc(x))

# ---- the next port of this test ----
"""JAX port of Frozen (calls/test_module_methods.py), written by jaxgrad.port for torch 2.13.

torch also stores these values on objects; the port leaves them out:
- `training` of drop (test_module_methods.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Dropout, Linear


class Frozen(nnx.Module):
    """Frozen (calls/test_module_methods.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)
        self.drop = Dropout(rngs=rngs)

    def __call__(self, x):
        return self.drop(self.fc(x))
