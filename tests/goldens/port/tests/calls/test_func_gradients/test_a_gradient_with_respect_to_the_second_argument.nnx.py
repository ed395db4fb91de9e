"""JAX port of OfTheSecond (calls/test_func_gradients.py), written by jaxgrad.port for torch 2.13.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class OfTheSecond(nnx.Module):
    """OfTheSecond (calls/test_func_gradients.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        x = jax.grad(
            lambda scale, v: (jnp.tanh(self.first(v)) * scale).sum(), argnums=1
        )(x.mean(), x)
        return self.second(x)

# ---- the next port of this test ----
"""JAX port of OfTheSecond (calls/test_func_gradients.py), written by jaxgrad.port for torch 2.13.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class OfTheSecond(nnx.Module):
    """OfTheSecond (calls/test_func_gradients.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        x = jax.grad(
            lambda scale, v: (jnp.tanh(self.first(v)) * scale).sum(), argnums=1
        )(x.mean(), x)
        return self.second(x)
