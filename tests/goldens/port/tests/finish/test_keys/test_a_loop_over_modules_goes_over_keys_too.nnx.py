"""JAX port of Loops (finish/test_keys.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Loops(nnx.Module):
    """Loops (finish/test_keys.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(3, 3, rngs=rngs) for _ in range(2)])
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, x):
        for layer in self.layers:
            dropout_rng = None if self.deterministic else self.rngs()
            x = F.dropout(layer(x), p=0.5, training=not self.deterministic, key=dropout_rng)
        return x

# ---- the next port of this test ----
"""JAX port of Loops (finish/test_keys.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Loops(nnx.Module):
    """Loops (finish/test_keys.py:0).

    JAX unrolls `for t in range(x.shape[0])`, so compile time grows with the number of
    iterations; use lax.scan for long inputs.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(3, 3, rngs=rngs) for _ in range(2)])
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, x):
        for layer in self.layers:
            dropout_rng = None if self.deterministic else self.rngs()
            x = F.dropout(layer(x), p=0.5, training=not self.deterministic, key=dropout_rng)
        for t in range(x.shape[0]):
            dropout_rng = None if self.deterministic else self.rngs()
            x = x + F.dropout(x[t], p=0.5, training=not self.deterministic, key=dropout_rng)
        return x
