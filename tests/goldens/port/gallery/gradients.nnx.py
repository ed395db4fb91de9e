"""JAX port of Encoder (models/gradients.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Encoder(nnx.Module):
    """Encoder (models/gradients.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.frozen = Linear(4, 4, rngs=rngs)
        self.cell = Linear(4, 4, rngs=rngs)
        self.out = Linear(4, 2, rngs=rngs)

    def __call__(self, x, mask):
        h = self.frozen(x)
        scale = lax.stop_gradient(F.norm(h, dim=-1, keepdim=True))
        h = h / (scale + 1e-6)
        h = jnp.where(mask[..., None], 0, h)
        h = nnx.remat(lambda self, h: self.cell(h))(self, h)
        h = jaxgrad.hook(h, lambda grad: F.clamp(grad, min=-0.1, max=0.1))
        # straight-through
        return self.out(h + lax.stop_gradient(F.round(h)) - lax.stop_gradient(h))
