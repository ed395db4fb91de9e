"""JAX port of Options (port_collection/operators.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import BatchNorm1d, LayerNorm, Linear

F = functional.at("2.13")


class Options(nnx.Module):
    """Options of layers that differ from their defaults.

    Options (port_collection/operators.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)
        self.first = LayerNorm(4, eps=0.1)
        self.second = BatchNorm1d(4, momentum=0.3)
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, x):
        h = F.leaky_relu(self.second(self.first(self.inner(x))), negative_slope=0.3)
        dropout_rng = None if self.deterministic else self.rngs()
        return self.outer(F.dropout(h, p=0.2, training=not self.deterministic, key=dropout_rng))
