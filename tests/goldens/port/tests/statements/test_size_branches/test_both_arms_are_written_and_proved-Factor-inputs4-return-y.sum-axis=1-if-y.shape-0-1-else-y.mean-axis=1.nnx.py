"""JAX port of Factor (statements/test_size_branches.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Factor(nnx.Module):
    """Factor (statements/test_size_branches.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        y = self.linear(x) * (x.shape[1] / 2 if x.shape[0] > 1 else 3.0)
        return y.sum(axis=1) if y.shape[0] > 1 else y.mean(axis=1)
