"""JAX port of Slices (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Slices(nnx.Module):
    """Assigns to slices and items of lists.

    Slices (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        item = self.first(x)
        item_2 = lax.stop_gradient(self.second(x))
        item_4 = item * item_2
        named = {"first": x, "rest": jnp.cos(jnp.stack([item, item_2, item_4]))}
        return named["rest"]

# ---- the next port of this test ----
"""JAX port of Slices (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Slices(nnx.Module):
    """Assigns to slices and items of lists.

    Slices (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        item = self.first(x)
        item_2 = lax.stop_gradient(self.second(x))
        item_4 = item * item_2
        named = {"first": x, "rest": jnp.cos(jnp.stack([item, item_2, item_4]))}
        return named["rest"]

# ---- the next port of this test ----
"""JAX port of Slices (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Slices(nnx.Module):
    """Assigns to slices and items of lists.

    Slices (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        item = self.first(x)
        item_2 = lax.stop_gradient(self.second(x))
        item_4 = item * item_2
        named = {"first": x, "rest": jnp.cos(jnp.stack([item, item_2, item_4]))}
        return named["rest"]

# ---- the next port of this test ----
"""JAX port of Slices (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Slices(nnx.Module):
    """Assigns to slices and items of lists.

    Slices (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        item = self.first(x)
        item_2 = lax.stop_gradient(self.second(x))
        item_4 = item * item_2
        named = {"first": x, "rest": jnp.cos(jnp.stack([item, item_2, item_4]))}
        return named["rest"]
