"""JAX port of Resized (calls/test_builtin_calls.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Resized(nnx.Module):
    """Resized (calls/test_builtin_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        wide = F.interpolate(self.fc(x), size=(5, 6), mode="bilinear", align_corners=True)
        return wide.sum() + F.interpolate(x, scale_factor=2)
