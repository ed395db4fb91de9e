"""JAX port of Dropped (modes/test_modes.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Dropout, Linear


class Dropped(nnx.Module):
    """Dropped (modes/test_modes.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)
        self.norm = BatchNorm1d(3)
        self.drop = Dropout(rngs=rngs)

    def __call__(self, x):
        return self.drop(self.norm(self.fc(x)))
