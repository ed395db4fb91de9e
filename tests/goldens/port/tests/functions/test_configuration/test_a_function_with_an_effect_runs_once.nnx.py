"""JAX port of Configured (functions/test_configuration.py), written by jaxgrad.port for torch 2.13.
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Configured(nnx.Module):
    """Configured (functions/test_configuration.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return self.fc(x) * 3.0
