"""JAX port of QuotientAndRest (values/test_lengths.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class QuotientAndRest(nnx.Module):
    """QuotientAndRest (values/test_lengths.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        quotient, rest = divmod(x.shape[1], 2)
        return self.linear(x[:, : quotient + rest])
