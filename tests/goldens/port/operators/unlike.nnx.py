"""JAX port of Unlike (port_collection/operators.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Unlike(nnx.Module):
    """A loop whose turns differ, and whose order matters.

    Unlike (port_collection/operators.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.parts = nnx.List([Linear(3, 3, rngs=rngs), None, Linear(3, 3, rngs=rngs)])

    def __call__(self, x):
        x = self.parts[0](x) * (0 + 1)
        x = jnp.tanh(x) * (1 + 1)
        return self.parts[2](x) * (2 + 1)
