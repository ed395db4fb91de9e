"""JAX port of Checkpointed (nnx/test_port.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm1d, Linear


class Checkpointed(nnx.Module):
    """Checkpointed (nnx/test_port.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.unit = Unit(rngs=rngs)
        self.norms = nnx.Sequential(BatchNorm1d(3), jnp.tanh)

    def __call__(self, x):
        x = nnx.remat(lambda self, x: self.norms(x))(self, x)
        return nnx.remat(type(self.unit).__call__)(self.unit, x)


class Unit(nnx.Module):
    """Unit (nnx/test_port.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)
        self.norm = BatchNorm1d(3)

    def __call__(self, x):
        # half of the residual branch
        return x + 0.5 * jnp.tanh(self.norm(self.fc(x)))
