"""JAX port of Others (nnx/test_submodules.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Others(nnx.Module):
    """Others (nnx/test_submodules.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Other(rngs=rngs)
        self.second = Other2(rngs=rngs)

    def __call__(self, x):
        return self.second(self.first(x))


class Other(nnx.Module):
    """The submodule is added in one module and multiplied in the other.

    Other (nnx/test_submodules.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.lin = Linear(4, 5, rngs=rngs)
        self.gate = Linear(4, 5, rngs=rngs)

    def __call__(self, x):
        y = self.lin(x)
        return y * self.gate(x)


class Other2(nnx.Module):
    """The submodule is added in one module and multiplied in the other.

    Other (nnx/test_submodules.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.lin = Linear(5, 5, rngs=rngs)

    def __call__(self, x):
        return self.lin(x)
