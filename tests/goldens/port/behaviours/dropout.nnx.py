"""JAX port of Dropout (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Dropout(nnx.Module):
    """Dropout (port_collection/behaviours.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, x):
        dropout_rng = None if self.deterministic else self.rngs()
        x = F.dropout(self.inner(x), p=0.5, training=not self.deterministic, key=dropout_rng)
        return self.outer(x)
