"""JAX port of Commented (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Commented(nnx.Module):
    """Commented (calls/test_iteration_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        # the target does not move
        target = lax.stop_gradient(x * 2)
        # two layers
        for n in range(2):
            x = self.linear(x) * (n + 1.5)
        # powers
        x = x**2
        x = x**3
        return x - target
