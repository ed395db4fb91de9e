"""JAX port of Encoder (models/gradients.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
import jaxgrad
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def encoder(p, x, mask):
    """Encoder (models/gradients.py:0): x (N, 4), mask (N,) bool -> (N, 2)."""
    h = F.linear(x, **p["frozen"])
    scale = lax.stop_gradient(F.norm(h, dim=-1, keepdim=True))
    h = h / (scale + 1e-6)
    h = jnp.where(mask[..., None], 0, h)
    h = jax.checkpoint(lambda h: F.linear(h, **p["cell"]))(h)
    h = jaxgrad.hook(h, lambda grad: F.clamp(grad, min=-0.1, max=0.1))
    # straight-through
    return F.linear(h + lax.stop_gradient(F.round(h)) - lax.stop_gradient(h), **p["out"])
