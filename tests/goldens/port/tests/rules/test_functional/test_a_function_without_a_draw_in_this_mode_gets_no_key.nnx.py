"""JAX port of Pooled (rules/test_functional.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Pooled(nnx.Module):
    """Pooled (rules/test_functional.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)
        self.rngs = rngs.dropout.fork()

    def __call__(self, x):
        fractional_max_pool2d_rng = self.rngs()
        x = F.fractional_max_pool2d(
            self.fc(x), 2, output_ratio=(0.5, 0.5), key=fractional_max_pool2d_rng
        )
        return F.rrelu(x)
