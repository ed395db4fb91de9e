"""JAX port of TwoDropouts (port_collection/operators.py), written by jaxgrad.port for torch 2.13.
"""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class TwoDropouts(nnx.Module):
    """TwoDropouts (port_collection/operators.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, x):
        h = self.inner(x)
        dropout_rng = None if self.deterministic else self.rngs()
        dropout_rng_2 = None if self.deterministic else self.rngs()
        y = F.dropout(h, p=0.5, training=not self.deterministic, key=dropout_rng)
        z = F.dropout(h, p=0.5, training=not self.deterministic, key=dropout_rng_2)
        return self.outer(y + 2 * z)
