"""JAX port of Convolutions (finish/test_layers.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Conv1d

F = functional.at("2.13")


class Convolutions(nnx.Module):
    """Convolutions (finish/test_layers.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.a = Conv1d(2, 2, 3, rngs=rngs)
        self.b = Conv1d(2, 2, 1, bias=False, rngs=rngs)

    def __call__(self, x):
        x = self.b(self.a(x))
        y = F.conv1d(F.pad(x, (1, 1)), self.a.weight[...])
        return F.conv1d(x, self.a.weight[...][:, :, :1]) + y
