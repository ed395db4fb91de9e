"""JAX port of Nested (nnx/test_submodules.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Nested(nnx.Module):
    """A module in one of its own class, which cannot be written at one height.

    Nested (nnx/test_submodules.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.lin = Linear(4, 4, rngs=rngs)
        self.inner = Nested3(rngs=rngs)

    def __call__(self, x):
        x = self.lin(x)
        return self.inner(x)


class Nested3(nnx.Module):
    """A module in one of its own class, which cannot be written at one height.

    Nested (nnx/test_submodules.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.lin = Linear(4, 4, rngs=rngs)
        self.inner = Nested2(rngs=rngs)

    def __call__(self, x):
        x = self.lin(x)
        return self.inner(x)


class Nested2(nnx.Module):
    """A module in one of its own class, which cannot be written at one height.

    Nested (nnx/test_submodules.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.lin = Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        return self.lin(x)
