"""JAX port of Narrowed (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Narrowed(nnx.Module):
    """Narrowed (calls/test_inplace.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.first(x)
        left = lax.dynamic_slice_in_dim(h, 0, 2, axis=-1)
        left = left * 3
        h = lax.dynamic_update_slice_in_dim(h, left, 0, axis=-1)
        y = lax.dynamic_slice_in_dim(h, 1, 1, axis=0) + 1
        h = lax.dynamic_update_slice_in_dim(h, y, 1, axis=0)
        return self.second(h)

# ---- the next port of this test ----
"""JAX port of Narrowed (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Narrowed(nnx.Module):
    """Narrowed (calls/test_inplace.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.first(x)
        left = lax.dynamic_slice_in_dim(h, 0, 2, axis=-1)
        left = left * 3
        h = lax.dynamic_update_slice_in_dim(h, left, 0, axis=-1)
        y = lax.dynamic_slice_in_dim(h, 1, 1, axis=0) + 1
        h = lax.dynamic_update_slice_in_dim(h, y, 1, axis=0)
        return self.second(h)
