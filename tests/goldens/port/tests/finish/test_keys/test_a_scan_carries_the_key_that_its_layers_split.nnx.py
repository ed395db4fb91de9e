"""JAX port of Scanned (finish/test_keys.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Dropout, Linear


class Scanned(nnx.Module):
    """Scanned (finish/test_keys.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Layer(rngs=rngs) for _ in range(3)])
        self.drop = Dropout(0.2, rngs=rngs)

    def __call__(self, x):
        x = self.drop(x)
        for layer in self.layers:
            x = layer(x)
        return self.drop(x)


class Layer(nnx.Module):
    """Layer (finish/test_keys.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)
        self.drop = Dropout(0.1, rngs=rngs)

    def __call__(self, x):
        return x + self.drop(self.fc(x))
