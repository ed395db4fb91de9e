"""JAX port of Net (finish/test_shared_names.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import LayerNorm, Linear


class Net(nnx.Module):
    """Net (finish/test_shared_names.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.conv = nnx.Sequential(Linear(3, 3, rngs=rngs), jnp.tanh, LayerNorm(3))

    def __call__(self, x):
        return x + self.conv(x)

# ---- the next port of this test ----
"""JAX port of Net (finish/test_shared_names.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import LayerNorm, Linear


class Net(nnx.Module):
    """Net (finish/test_shared_names.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.body = nnx.Sequential(Linear(3, 3, rngs=rngs), jnp.tanh, LayerNorm(3))

    def __call__(self, x):
        return x + self.body(x)
