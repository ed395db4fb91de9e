"""JAX port of OwnValue (calls/test_memory.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class OwnValue(nnx.Module):
    """OwnValue (calls/test_memory.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        scale = lax.stop_gradient(h * 2)
        scale = lax.stop_gradient(scale + 1)
        return h * scale

# ---- the next port of this test ----
"""JAX port of OwnValue (calls/test_memory.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class OwnValue(nnx.Module):
    """OwnValue (calls/test_memory.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        scale = lax.stop_gradient(h * 2)
        scale = lax.stop_gradient(scale + 1)
        return h * scale
