"""JAX port of Unless (statements/test_size_branches.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Unless(nnx.Module):
    """Unless (statements/test_size_branches.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        if x.shape[0] > 1:
            scale = 1.0
        else:
            scale = x.shape[1] / 2
        return self.linear(x) * scale
