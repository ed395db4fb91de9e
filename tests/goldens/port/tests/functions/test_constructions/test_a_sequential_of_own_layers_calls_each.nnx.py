"""JAX port of Dropped (functions/test_constructions.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Dropped(nnx.Module):
    """It runs a part of its layers, as models with a random depth do.

    Dropped (functions/test_constructions.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(4, 4, rngs=rngs) for _ in range(3)])

    def __call__(self, x):
        layers = [self.layers[1], self.layers[2]]
        return layers[1](layers[0](x))
