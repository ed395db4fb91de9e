"""JAX port of Tied (finish/test_ties.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class Tied(nnx.Module):
    """A layer with two names, the second in a submodule without other parameters.

    Tied (finish/test_ties.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.a = Linear(3, 3, bias=False, rngs=rngs)
        self.b = nnx.Dict({"fc": Linear(3, 3, bias=False, rngs=rngs)})
        self.norm = BatchNorm1d(3)
        self.b.fc = self.a  # tied

    def __call__(self, x):
        return self.norm(self.b["fc"](self.a(x)))
