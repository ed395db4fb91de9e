"""JAX port of Steps (functions/test_parameters.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Steps(nnx.Module):
    """Steps (functions/test_parameters.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.net = Linear(4, 4, rngs=rngs)

    def __call__(self, y):
        return rk_step(self.net, rk_step(self.net, y, h=0.5), h=0.25)


def rk_step(module, y, *, h):
    """rk_step (functions/test_parameters.py:0)."""
    return y + h * module(y)
