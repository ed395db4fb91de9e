"""JAX port of Documented (nnx/test_port.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Documented(nnx.Module):
    """Adds a residual.

    Documented (nnx/test_port.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return x + self.fc(x)
