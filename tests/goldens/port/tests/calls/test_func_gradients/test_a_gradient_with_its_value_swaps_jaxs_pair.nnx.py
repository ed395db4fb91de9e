"""JAX port of ValueAndGradient (calls/test_func_gradients.py), written by jaxgrad.port for torch
  2.13.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class ValueAndGradient(nnx.Module):
    """ValueAndGradient (calls/test_func_gradients.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        grads, energy = jax.value_and_grad(
            lambda scale, v: (jnp.tanh(self.first(v)) * scale).sum(), argnums=1
        )(x.mean(), x)[::-1]
        slope = jax.value_and_grad(lambda x_2: self.energy(x_2))(x)[1]
        return self.second(2 * grads - energy + slope)

    def energy(self, v):
        return jnp.tanh(self.first(v)).sum()

# ---- the next port of this test ----
"""JAX port of ValueAndGradient (calls/test_func_gradients.py), written by jaxgrad.port for torch
  2.13.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class ValueAndGradient(nnx.Module):
    """ValueAndGradient (calls/test_func_gradients.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        grads, energy = jax.value_and_grad(
            lambda scale, v: (jnp.tanh(self.first(v)) * scale).sum(), argnums=1
        )(x.mean(), x)[::-1]
        slope = jax.value_and_grad(lambda x_2: self.energy(x_2))(x)[1]
        return self.second(2 * grads - energy + slope)

    def energy(self, v):
        return jnp.tanh(self.first(v)).sum()

# ---- the next port of this test ----
"""JAX port of ValueAndGradient (calls/test_func_gradients.py), written by jaxgrad.port for torch
  2.13.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class ValueAndGradient(nnx.Module):
    """ValueAndGradient (calls/test_func_gradients.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        grads, energy = jax.value_and_grad(
            lambda scale, v: (jnp.tanh(self.first(v)) * scale).sum(), argnums=1
        )(x.mean(), x)[::-1]
        slope = jax.value_and_grad(lambda x_2: self.energy(x_2))(x)[1]
        return self.second(2 * grads - energy + slope)

    def energy(self, v):
        return jnp.tanh(self.first(v)).sum()
