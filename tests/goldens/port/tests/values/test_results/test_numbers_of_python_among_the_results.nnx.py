"""JAX port of Counted (values/test_results.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Counted(nnx.Module):
    """Counted (values/test_results.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return self.fc(x), x.shape[0], 0.5
