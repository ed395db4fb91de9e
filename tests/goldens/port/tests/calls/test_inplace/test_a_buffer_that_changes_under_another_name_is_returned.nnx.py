"""JAX port of Renamed (calls/test_inplace.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Renamed(nnx.Module):
    """A local variable is the buffer, and changes in place.

    Renamed (calls/test_inplace.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.mean = nnx.BatchStat(jnp.ones(4, jnp.float32))
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        mean = self.mean[...]
        for _ in range(2):
            mean = lax.stop_gradient(F.normalize(h.mean(axis=0) + mean, dim=0))
            self.mean[...] = mean
            mean = lax.stop_gradient(mean)
        mean = lax.stop_gradient(mean)
        return h * mean

# ---- the next port of this test ----
"""JAX port of Renamed (calls/test_inplace.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Renamed(nnx.Module):
    """A local variable is the buffer, and changes in place.

    Renamed (calls/test_inplace.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.mean = nnx.BatchStat(jnp.ones(4, jnp.float32))
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        mean = self.mean[...]
        for _ in range(2):
            mean = lax.stop_gradient(F.normalize(h.mean(axis=0) + mean, dim=0))
            self.mean[...] = mean
            mean = lax.stop_gradient(mean)
        mean = lax.stop_gradient(mean)
        return h * mean
