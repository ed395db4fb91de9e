"""JAX port of Expanded (rules/test_shapes.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Expanded(nnx.Module):
    """The sizes are in a variable, as `torch.fx` writes them.

    Expanded (rules/test_shapes.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        sizes = (h.shape[0],)
        sizes = sizes[0], -1
        return jnp.broadcast_to(h[:1], (sizes[0], h[:1].shape[1])) * h
