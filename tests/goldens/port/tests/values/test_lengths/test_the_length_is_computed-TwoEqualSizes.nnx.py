"""JAX port of TwoEqualSizes (values/test_lengths.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class TwoEqualSizes(nnx.Module):
    """TwoEqualSizes (values/test_lengths.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        image = self.linear(x)[:, None]
        return F.avg_pool2d(image, (image.shape[2], image.shape[3]))
