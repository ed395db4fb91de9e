"""JAX port of Clamp (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")


class Clamp(nnx.Module):
    """Clamp (port_collection/behaviours.py:0)."""

    def __init__(self):
        self.scale = nnx.Param(jnp.ones(3, jnp.float32))

    def __call__(self, x):
        return F.clamp(x, min=0.0, max=1.0) * self.scale[...]
