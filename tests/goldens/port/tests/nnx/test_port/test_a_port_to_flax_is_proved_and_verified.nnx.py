"""JAX port of Small (nnx/test_port.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Dropout, Linear


class Small(nnx.Module):
    """Small (nnx/test_port.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.body = nnx.Sequential(Linear(3, 3, rngs=rngs), Dropout(rngs=rngs))
        self.out = Linear(3, 1, rngs=rngs)

    def __call__(self, x):
        return self.out(self.body(x))
