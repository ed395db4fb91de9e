"""JAX port of Behaviours (port/test_port.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- x.detach() shares the memory of x in torch; here it is a value of its own.
- torch raises if a tensor in save_for_backward is changed in place before the backward pass. Here
  it cannot change.
"""

import jax
import jax.numpy as jnp
import jaxgrad
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def behaviours(p, x, mask):
    """Behaviours (port/test_port.py:0): x (N, 3), mask (N,) bool -> (N, 2)."""
    h = F.linear(x, **p["inp"])
    h = h / (lax.stop_gradient(scale(h)) + 1e-6)
    double = lax.stop_gradient(h * 2)
    target = lax.stop_gradient(h) + double
    h = F.linear(h, **p["frozen"])
    h = jnp.where(mask[..., None], 0, h)
    h = jax.checkpoint(cell)(p["cell"], h)
    h = Clip(h, 0.5)
    h = jaxgrad.hook(h, lambda grad: F.clamp(grad, min=-0.1, max=0.1))
    h += target
    out = F.linear(h, **p["out"])
    return out.at[:, 0].set(out[:, 0] * 3.0)


def scale(h):
    """scale (port/test_port.py:0): h (N, 4) -> (N, 1)."""
    return F.norm(h, dim=-1, keepdim=True)


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


def cell(p, x):
    """Behaviours.cell (port/test_port.py:0): x (N, 4) -> (N, 4)."""
    x = F.linear(x, **p[0])
    return jax.nn.relu(x)
