"""JAX port of Net (source/test_naming.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class Net(nnx.Module):
    """Net (source/test_naming.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.body = nnx.Sequential(Linear(3, 3, rngs=rngs), BatchNorm1d(3))

    def __call__(self, x):
        return self.body(x).sum()
