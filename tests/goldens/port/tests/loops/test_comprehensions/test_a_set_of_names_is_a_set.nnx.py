"""JAX port of Names (loops/test_comprehensions.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Names(nnx.Module):
    """Names (loops/test_comprehensions.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return self.fc(x) * 2
