"""JAX port of FlatView (calls/test_inplace.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class FlatView(nnx.Module):
    """FlatView (calls/test_inplace.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.first(x)
        h = h.reshape(-1).at[0].set(1.0).reshape(h.shape)
        h = h.swapaxes(0, 1).at[1].set(0.5).swapaxes(0, 1)
        return self.second(h)

# ---- the next port of this test ----
"""JAX port of FlatView (calls/test_inplace.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class FlatView(nnx.Module):
    """FlatView (calls/test_inplace.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.first(x)
        h = h.reshape(-1).at[0].set(1.0).reshape(h.shape)
        h = h.swapaxes(0, 1).at[1].set(0.5).swapaxes(0, 1)
        return self.second(h)
