"""JAX port of PartOfItself (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from flax import nnx
from jaxgrad.nnx import Linear


class PartOfItself(nnx.Module):
    """PartOfItself (calls/test_inplace.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.first(x)
        h = h[:, :2]
        h = h * 3
        h += 1
        return h * 2

# ---- the next port of this test ----
# PortError: test_inplace.py:0 `return whole * 2`: 'whole' shares memory with a tensor that line 160 changes in place; copy one of them first; or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand
