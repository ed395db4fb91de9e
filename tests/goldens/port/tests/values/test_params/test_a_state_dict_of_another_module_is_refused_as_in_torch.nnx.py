"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class Sequential(nnx.Module):
    """torch.nn.Sequential."""

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", Linear(4, 3, rngs=rngs))
        setattr(self, "1", BatchNorm1d(3))

    def __call__(self, x):
        for module in self:
            x = module(x)
        return x

    def __iter__(self):
        return (getattr(self, str(number)) for number in range(2))
