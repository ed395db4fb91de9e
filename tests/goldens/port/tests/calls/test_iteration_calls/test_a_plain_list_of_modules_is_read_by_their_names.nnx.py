"""JAX port of Listed (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Listed(nnx.Module):
    """Listed (calls/test_iteration_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layer_0 = Linear(3, 3, rngs=rngs)
        self.layer_1 = Linear(3, 3, rngs=rngs)
        self.layer_2 = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        for layer in [self.layer_0, self.layer_1]:
            x = jnp.tanh(layer(x))
        return self.layer_2(x)

# ---- the next port of this test ----
"""JAX port of Listed (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Listed(nnx.Module):
    """Listed (calls/test_iteration_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layer_0 = Linear(3, 3, rngs=rngs)
        self.layer_1 = Linear(3, 3, rngs=rngs)
        self.layer_2 = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        for layer in [self.layer_0, self.layer_1]:
            x = jnp.tanh(layer(x))
        return self.layer_2(x)
