"""JAX port of Scaled (proof/test_proofs.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Scaled(nnx.Module):
    """Scaled (proof/test_proofs.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 2, rngs=rngs)
        self.deterministic = False

    def __call__(self, x):
        return self.linear(x) * (0.5 if self.deterministic else 2.0)
