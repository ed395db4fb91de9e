"""JAX port of Prior (functions/test_objects.py), written by jaxgrad.port for torch 2.13."""

import math

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Prior(nnx.Module):
    """Prior (functions/test_objects.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        return log_prob(self.fc(x)).sum(axis=-1)


def log_prob(value):
    """torch.distributions.Normal.log_prob."""
    var = jnp.array(1.0, dtype=jnp.float32) ** 2
    log_scale = jnp.log(jnp.array(1.0, dtype=jnp.float32))
    return (
        -((value - jnp.array(0.0, dtype=jnp.float32)) ** 2) / (2 * var)
        - log_scale
        - math.log(math.sqrt(2 * math.pi))
    )
