"""JAX port of Scored (proof/test_proofs.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Scored(nnx.Module):
    """Scored (proof/test_proofs.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 2, rngs=rngs)

    def __call__(self, x):
        return {"logits": self.fc(x)}
