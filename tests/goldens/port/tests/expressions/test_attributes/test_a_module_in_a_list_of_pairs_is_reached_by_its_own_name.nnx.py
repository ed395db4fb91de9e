"""JAX port of Paired (expressions/test_attributes.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Paired(nnx.Module):
    """The modules are also in a list of pairs, each with a number.

    Paired (expressions/test_attributes.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(3, 3, rngs=rngs) for _ in range(2)])

    def __call__(self, x):
        x = self.layers[0](x) * 2.0
        return self.layers[1](x) * 3.0
