"""JAX port of Sets (loops/test_comprehensions.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Sets(nnx.Module):
    """Sets (loops/test_comprehensions.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return self.fc(x)
