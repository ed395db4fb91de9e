"""JAX port of Crop (loops/test_comprehensions.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Crop(nnx.Module):
    """Crop (loops/test_comprehensions.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        parts = [slice(1, h.shape[0] - 1), slice(1, h.shape[1] - 1)]
        return h[tuple(parts)] * 2
