"""JAX port of Counted (statements/test_augmented.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Counted(nnx.Module):
    """The target of an assignment is computed by a function that counts its calls.

    Counted (statements/test_augmented.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        return h * 1
