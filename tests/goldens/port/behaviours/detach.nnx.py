"""JAX port of Detach (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Detach(nnx.Module):
    """Detach (port_collection/behaviours.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        h = self.inner(x)
        return self.outer(h) * lax.stop_gradient(h).sum(axis=-1, keepdims=True)
