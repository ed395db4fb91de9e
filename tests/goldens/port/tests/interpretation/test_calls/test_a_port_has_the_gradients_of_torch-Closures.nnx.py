"""JAX port of Closures (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Closures(nnx.Module):
    """A module that keeps nested functions in a tuple and in a dict.

    Closures (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        scale = lax.stop_gradient(self.second(x))
        x = 2 * x * scale
        x = self.first(x) + x
        x = jnp.tanh(x)
        return 2 * x * scale

# ---- the next port of this test ----
"""JAX port of Closures (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Closures(nnx.Module):
    """A module that keeps nested functions in a tuple and in a dict.

    Closures (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        scale = lax.stop_gradient(self.second(x))
        x = 2 * x * scale
        x = self.first(x) + x
        x = jnp.tanh(x)
        return 2 * x * scale

# ---- the next port of this test ----
"""JAX port of Closures (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Closures(nnx.Module):
    """A module that keeps nested functions in a tuple and in a dict.

    Closures (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        scale = lax.stop_gradient(self.second(x))
        x = 2 * x * scale
        x = self.first(x) + x
        x = jnp.tanh(x)
        return 2 * x * scale

# ---- the next port of this test ----
"""JAX port of Closures (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Closures(nnx.Module):
    """A module that keeps nested functions in a tuple and in a dict.

    Closures (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        scale = lax.stop_gradient(self.second(x))
        x = 2 * x * scale
        x = self.first(x) + x
        x = jnp.tanh(x)
        return 2 * x * scale
