"""JAX port of NoGrad (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class NoGrad(nnx.Module):
    """NoGrad (port_collection/behaviours.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        h = self.inner(x)
        scale = lax.stop_gradient(F.norm(h, dim=-1, keepdim=True))
        return self.outer(h / (scale + 1e-6))
