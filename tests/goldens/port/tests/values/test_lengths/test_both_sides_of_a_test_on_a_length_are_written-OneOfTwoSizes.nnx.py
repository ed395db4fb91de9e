"""JAX port of OneOfTwoSizes (values/test_lengths.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class OneOfTwoSizes(nnx.Module):
    """OneOfTwoSizes (values/test_lengths.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return self.linear(x) if x.shape[1] in (4, 5) else self.linear(x) * 2
