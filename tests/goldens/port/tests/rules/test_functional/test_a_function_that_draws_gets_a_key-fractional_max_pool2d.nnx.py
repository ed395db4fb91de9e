"""JAX port of Sampled (rules/test_functional.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Sampled(nnx.Module):
    """A function that draws numbers: of the classes of each row, or of a pooling's windows.

    Sampled (rules/test_functional.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)
        self.rngs = rngs.dropout.fork()

    def __call__(self, x):
        h = self.fc(x)
        fractional_max_pool2d_rng = self.rngs()
        return F.fractional_max_pool2d(
            h[None, None], 2, output_size=2, key=fractional_max_pool2d_rng
        )
