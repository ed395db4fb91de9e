"""JAX port of Activated (statements/test_matches.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Activated(nnx.Module):
    """Activated (statements/test_matches.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        x = self.linear(x)
        return jnp.exp(x)

# ---- the next port of this test ----
"""JAX port of Activated (statements/test_matches.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Activated(nnx.Module):
    """Activated (statements/test_matches.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        x = self.linear(x)
        return jnp.exp(x)
