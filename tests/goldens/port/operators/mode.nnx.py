"""JAX port of Mode (port_collection/operators.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Mode(nnx.Module):
    """Mode (port_collection/operators.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)
        self.deterministic = False

    def __call__(self, x):
        return self.outer(jnp.tanh(self.inner(x) * (0.5 if self.deterministic else 2.0)))
