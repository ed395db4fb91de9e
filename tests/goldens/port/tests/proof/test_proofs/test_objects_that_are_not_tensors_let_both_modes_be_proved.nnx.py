"""JAX port of Named (proof/test_proofs.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Named(nnx.Module):
    """Named (proof/test_proofs.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 2, rngs=rngs)

    def __call__(self, x):
        return {"out": self.linear(x), "note": "a"}
