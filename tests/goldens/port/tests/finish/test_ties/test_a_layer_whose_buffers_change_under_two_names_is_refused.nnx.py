"""JAX port of Shared (finish/test_ties.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class Shared(nnx.Module):
    """Shared (finish/test_ties.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.norm = BatchNorm1d(3)
        self.fc = Linear(3, 3, rngs=rngs)
        self.again = nnx.Dict({"norm": BatchNorm1d(3)})
        self.again.norm = self.norm  # tied

    def __call__(self, x):
        x = self.fc(self.norm(x))
        return self.again["norm"](x)
