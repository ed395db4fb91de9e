"""JAX port of Aliased (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Aliased(nnx.Module):
    """Aliased (calls/test_iteration_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        total = 1.0 + self.linear(x[:, 0])
        x = x * 1.0
        old = total
        total = total + self.linear(x[:, 1])
        x = x * old[:, None]
        old = total
        total = total + self.linear(x[:, 2])
        x = x * old[:, None]
        return x.sum(axis=1) + total
