"""JAX port of ReusedName (values/test_lengths.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class ReusedName(nnx.Module):
    """ReusedName (values/test_lengths.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        for n in range(2):
            x = x + n
        n = x.shape[1]
        return self.linear(x) if n == 4 else x
