"""JAX port of Last (finish/test_unused.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import LSTM


class Last(nnx.Module):
    """Last (finish/test_unused.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.lstm = LSTM(3, 4, batch_first=True, rngs=rngs)

    def __call__(self, x):
        batch, length, features = x.shape
        out, pair = self.lstm(x)
        h, c = pair
        return out.reshape(batch, -1), h

# ---- the next port of this test ----
"""JAX port of Total (finish/test_unused.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import LSTM


class Total(nnx.Module):
    """Total (finish/test_unused.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.lstm = LSTM(3, 4, batch_first=True, rngs=rngs)

    def __call__(self, x):
        return self.forward(x)[1]

    def forward(self, x):
        batch, length, features = x.shape
        out, pair = self.lstm(x)
        h, c = pair
        return out.reshape(batch, -1), h
