"""JAX port of Options (rules/test_equal_forms.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Conv2d, Dropout

F = functional.at("2.13")


class Options(nnx.Module):
    """Options (rules/test_equal_forms.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.conv = Conv2d(1, 1, 1, rngs=rngs)
        self.drop = Dropout(rngs=rngs)

    def __call__(self, x):
        x = F.interpolate(self.conv(x), scale_factor=2)
        return self.drop(F.pad(x, (1, 1)))
