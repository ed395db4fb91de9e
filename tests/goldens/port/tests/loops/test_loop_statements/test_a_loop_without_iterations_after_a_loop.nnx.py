"""JAX port of Growing (loops/test_loop_statements.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Growing(nnx.Module):
    """Growing (loops/test_loop_statements.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(3, 3, rngs=rngs) for _ in range(2)])

    def __call__(self, x):
        found = []
        for layer in self.layers:
            x = layer(x)
            found += [x]
        return jnp.concatenate(found, axis=1) + 0

# ---- the next port of this test ----
"""JAX port of Growing (loops/test_loop_statements.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Growing(nnx.Module):
    """Growing (loops/test_loop_statements.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(3, 3, rngs=rngs) for _ in range(2)])

    def __call__(self, x):
        found = []
        for layer in self.layers:
            x = layer(x)
            found += [x]
        return jnp.concatenate(found, axis=1) + 0
