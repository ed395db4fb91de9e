"""JAX port of Growing (loops/test_scans.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Growing(nnx.Module):
    """Growing (loops/test_scans.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.units = nnx.List([Unit(rngs=rngs) for _ in range(3)])

    def __call__(self, x):
        for unit in self.units:
            x = jnp.concatenate([x, unit(x[:, :4])], axis=1)
        return x


class Unit(nnx.Module):
    """Unit (loops/test_scans.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return jnp.tanh(self.fc(x))
