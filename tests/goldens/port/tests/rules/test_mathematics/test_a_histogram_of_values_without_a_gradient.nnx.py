"""JAX port of Counted (rules/test_mathematics.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Counted(nnx.Module):
    """The histogram of the outputs is another output, as in a monitored layer.

    Counted (rules/test_mathematics.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        return h * h, jnp.histogram(lax.stop_gradient(h), 5, range=(-1, 1))[0].astype(jnp.float32)
