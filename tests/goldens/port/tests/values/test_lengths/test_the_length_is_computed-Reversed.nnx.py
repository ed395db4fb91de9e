"""JAX port of Reversed (values/test_lengths.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Reversed(nnx.Module):
    """Reversed (values/test_lengths.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        steps = list(x.swapaxes(0, 1))
        steps.reverse()
        last = steps.pop()
        steps.insert(0, last)
        return self.linear(steps[1] - 2 * steps[-1])
