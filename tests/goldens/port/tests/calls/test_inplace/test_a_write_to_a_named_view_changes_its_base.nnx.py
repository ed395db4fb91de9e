"""JAX port of NamedView (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from flax import nnx
from jaxgrad.nnx import Linear


class NamedView(nnx.Module):
    """NamedView (calls/test_inplace.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.first(x)
        left = h[:, :2]
        left = left * 3
        h = h.at[:, :2].set(left)
        left += 1
        h = h.at[:, :2].set(left)
        return self.second(h)

# ---- the next port of this test ----
"""JAX port of NamedView (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from flax import nnx
from jaxgrad.nnx import Linear


class NamedView(nnx.Module):
    """NamedView (calls/test_inplace.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.first(x)
        left = h[:, :2]
        left = left * 3
        h = h.at[:, :2].set(left)
        left += 1
        h = h.at[:, :2].set(left)
        return self.second(h)

# ---- the next port of this test ----
"""JAX port of NamedView (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from flax import nnx
from jaxgrad.nnx import Linear


class NamedView(nnx.Module):
    """NamedView (calls/test_inplace.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.first(x)
        left = h[:, :2]
        left = left * 3
        h = h.at[:, :2].set(left)
        left += 1
        h = h.at[:, :2].set(left)
        return self.second(h)
