"""JAX port of Checks (interpretation/test_statements.py), written by jaxgrad.port for torch 2.13.
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Checks(nnx.Module):
    """Checks (interpretation/test_statements.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        return h * 2
