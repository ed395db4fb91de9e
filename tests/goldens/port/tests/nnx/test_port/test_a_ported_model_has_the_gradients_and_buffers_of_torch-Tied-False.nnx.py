"""JAX port of Tied (nnx/test_port.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Tied(nnx.Module):
    """Tied (nnx/test_port.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.up = Linear(3, 3, rngs=rngs)
        self.down = Linear(3, 3, rngs=rngs)
        self.again = self.up  # tied
        self.down.weight = self.up.weight  # tied

    def __call__(self, x):
        return self.again(jnp.tanh(self.down(self.up(x))))
