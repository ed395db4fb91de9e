"""JAX port of RangeAsAValue (values/test_lengths.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class RangeAsAValue(nnx.Module):
    """RangeAsAValue (values/test_lengths.py:0).

    JAX unrolls `for n in places[::-1]`, so compile time grows with the number of iterations;
    use lax.scan for long inputs.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        places = list(range(x.shape[1]))
        return sum([self.linear(x[:, n]) * n for n in places[::-1]])
