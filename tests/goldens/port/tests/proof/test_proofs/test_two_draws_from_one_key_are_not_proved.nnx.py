"""JAX port of Dropouts (proof/test_proofs.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Dropouts(nnx.Module):
    """Dropouts (proof/test_proofs.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 2, rngs=rngs)
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, x):
        x = self.linear(x)
        dropout_rng = None if self.deterministic else self.rngs()
        dropout_rng_2 = None if self.deterministic else self.rngs()
        y = F.dropout(x, p=0.5, training=not self.deterministic, key=dropout_rng)
        return y + 2 * F.dropout(x, p=0.5, training=not self.deterministic, key=dropout_rng_2)
