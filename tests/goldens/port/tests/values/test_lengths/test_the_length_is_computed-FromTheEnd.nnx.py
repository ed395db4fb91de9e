"""JAX port of FromTheEnd (values/test_lengths.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class FromTheEnd(nnx.Module):
    """FromTheEnd (values/test_lengths.py:0).

    JAX unrolls `for t in range(x.shape[1])`, so compile time grows with the number of
    iterations; use lax.scan for long inputs.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        outs = []
        for t in range(x.shape[1]):
            outs.append((self.linear(x[:, t]), x[:, t]))
        return outs[-1][0] * outs[-2][1] / len(outs)
