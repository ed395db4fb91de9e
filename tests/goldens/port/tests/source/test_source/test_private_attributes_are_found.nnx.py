"""JAX port of _Private (source/test_source.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class _Private(nnx.Module):
    """Python gives names of two underscores another name in each class.

    _Private (source/test_source.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self._Private__layer = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return self.__scaled(x + 1)

    def __scaled(self, x):
        return self._Private__layer(x) * 2
