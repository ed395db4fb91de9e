"""JAX port of Net (finish/test_signatures.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Net(nnx.Module):
    """Net (finish/test_signatures.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Unit(rngs=rngs)
        self.second = Unit2(rngs=rngs)

    def __call__(self, x):
        return nnx.remat(type(self.first).__call__)(self.first, x, x)


class Unit(nnx.Module):
    """Unit (finish/test_signatures.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = 2
        self.fc = Linear(3, 3, rngs=rngs)
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, x, gain):
        dropout_rng = None if self.deterministic else self.rngs()
        x = self.fc(x) * self.scale + gain
        return F.dropout(x, p=0.5, training=not self.deterministic, key=dropout_rng)


class Unit2(nnx.Module):
    """Unit (finish/test_signatures.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)
