"""JAX port of Net (finish/test_signatures.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Net(nnx.Module):
    """Net (finish/test_signatures.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Unit(scale=2, rngs=rngs)
        self.second = Unit(scale=3, rngs=rngs)

    def __call__(self, x):
        return self.second(self.first(x, x), x)


class Unit(nnx.Module):
    """Unit (finish/test_signatures.py:0)."""

    def __init__(self, scale, *, rngs: nnx.Rngs):
        self.scale = scale
        self.fc = Linear(3, 3, rngs=rngs)
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, x, gain):
        dropout_rng = None if self.deterministic else self.rngs()
        x = self.fc(x) * self.scale + gain
        return F.dropout(x, p=0.5, training=not self.deterministic, key=dropout_rng)
