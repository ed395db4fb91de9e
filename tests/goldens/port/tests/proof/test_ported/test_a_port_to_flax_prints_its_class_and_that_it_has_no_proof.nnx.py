"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Sequential(nnx.Module):
    """torch.nn.Sequential."""

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", Linear(4, 4, rngs=rngs))

    def __call__(self, x):
        return getattr(self, "0")(x)
