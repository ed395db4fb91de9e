"""JAX port of Kept (functions/test_made_objects.py), written by jaxgrad.port for torch 2.13.

torch also stores these values on objects; the port leaves them out:
- `last` of Kept (test_made_objects.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Kept(nnx.Module):
    """Kept (functions/test_made_objects.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return leaves(self.fc(x))


def leaves(h):
    """_leaves (functions/test_made_objects.py:0)."""
    return h

# ---- the next port of this test ----
"""JAX port of Kept (functions/test_made_objects.py), written by jaxgrad.port for torch 2.13.

torch also stores these values on objects; the port leaves them out:
- `last` of Kept (test_made_objects.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Kept(nnx.Module):
    """Kept (functions/test_made_objects.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return leaves(self.fc(x))


def leaves(h):
    """_leaves (functions/test_made_objects.py:0)."""
    return h
