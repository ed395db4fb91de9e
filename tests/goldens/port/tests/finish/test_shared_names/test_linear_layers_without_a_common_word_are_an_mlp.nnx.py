"""JAX port of Net (finish/test_shared_names.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Net(nnx.Module):
    """Net (finish/test_shared_names.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.encoder = nnx.Sequential(Linear(3, 3, rngs=rngs), jnp.tanh, Linear(3, 3, rngs=rngs))
        self.decoder = nnx.Sequential(Linear(3, 3, rngs=rngs), jnp.tanh, Linear(3, 3, rngs=rngs))

    def __call__(self, x):
        x = x + self.encoder(x)
        return x + self.decoder(x)

# ---- the next port of this test ----
"""JAX port of Net (finish/test_shared_names.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Net(nnx.Module):
    """Net (finish/test_shared_names.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.encoder = nnx.Sequential(Linear(3, 3, rngs=rngs), jnp.tanh, Linear(3, 3, rngs=rngs))

    def __call__(self, x):
        return x + self.encoder(x)
