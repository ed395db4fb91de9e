"""JAX port of Behaviours (port/test_port.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- x.detach() shares the memory of x in torch; here it is a value of its own.
- torch raises if a tensor in save_for_backward is changed in place before the backward pass. Here
  it cannot change.
"""

import jax
import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Behaviours(nnx.Module):
    """Behaviours (port/test_port.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inp = Linear(3, 4, rngs=rngs)
        self.out = Linear(4, 2, rngs=rngs)
        self.frozen = Linear(4, 4, rngs=rngs)
        self.cell = nnx.Sequential(Linear(4, 4, rngs=rngs), jax.nn.relu)

    def __call__(self, x, mask):
        h = self.inp(x)
        h = h / (self.scale(h) + 1e-6)
        double = lax.stop_gradient(h * 2)
        target = lax.stop_gradient(h) + double
        h = self.frozen(h)
        h = jnp.where(mask[..., None], 0, h)
        h = nnx.remat(lambda self, h: self.cell(h))(self, h)
        h = Clip(h, 0.5)
        h = jaxgrad.hook(h, lambda grad: F.clamp(grad, min=-0.1, max=0.1))
        h += target
        out = self.out(h)
        return out.at[:, 0].set(out[:, 0] * 3.0)

    def scale(self, h):
        return lax.stop_gradient(scale(h))


@jaxgrad.from_function
class Clip:
    """Clip (port/test_port.py:0)."""

    @staticmethod
    def forward(ctx, x, bound):
        ctx.save_for_backward(x)
        ctx.bound = bound
        return F.clamp(x, min=-bound, max=bound)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (F.abs(x) <= ctx.bound).astype(grad.dtype) * 0.5, None


def scale(h):
    """scale (port/test_port.py:0)."""
    return F.norm(h, dim=-1, keepdim=True)
