"""JAX port of Chosen (interpretation/test_statements.py), written by jaxgrad.port for torch 2.13.
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Chosen(nnx.Module):
    """Chosen (interpretation/test_statements.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(3, 3, rngs=rngs)
        self.second = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return self.first(x)
