"""JAX port of Negative (source/test_source.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Negative(nnx.Module):
    """Negative (source/test_source.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        return -4.0 * self.fc(x)
