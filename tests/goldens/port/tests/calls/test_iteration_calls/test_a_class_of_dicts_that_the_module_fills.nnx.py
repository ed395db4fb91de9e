"""JAX port of Filled (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Filled(nnx.Module):
    """Filled (calls/test_iteration_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        hidden = self.linear(x)
        last = jnp.tanh(hidden)
        return {"hidden": hidden, "last": last}
