"""JAX port of Passes (interpretation/test_interpretation.py), written by jaxgrad.port for torch
  2.13.
"""

import jax.numpy as jnp
from flax import nnx


class Passes(nnx.Module):
    """Passes (interpretation/test_interpretation.py:0)."""

    def __init__(self):
        self.inner = Scaled()

    def work(self, picture):
        x = jnp.sin(self.inner(picture * 2))
        return x * picture + x


class Scaled(nnx.Module):
    """Scaled (interpretation/test_interpretation.py:0).

    `jaxgrad.nnx.load_state_dict` sets `weight`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self):
        self.weight = nnx.Param(jnp.empty((3, 3), jnp.float32))

    def __call__(self, image):
        scaled = image * 2
        return jnp.tanh(scaled @ self.weight[...])

# ---- the next port of this test ----
"""JAX port of Passes (interpretation/test_interpretation.py), written by jaxgrad.port for torch
  2.13.
"""

import jax.numpy as jnp
from flax import nnx


class Passes(nnx.Module):
    """Passes (interpretation/test_interpretation.py:0)."""

    def __init__(self):
        self.inner = Scaled()

    def work(self, picture):
        x = jnp.sin(self.inner(picture * 2))
        return x * picture + x


class Scaled(nnx.Module):
    """Scaled (interpretation/test_interpretation.py:0).

    `jaxgrad.nnx.load_state_dict` sets `weight`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self):
        self.weight = nnx.Param(jnp.empty((3, 3), jnp.float32))

    def __call__(self, image):
        scaled = image * 2
        return jnp.tanh(scaled @ self.weight[...])

# ---- the next port of this test ----
"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx


class Sequential(nnx.Module):
    """torch.nn.Sequential."""

    def __init__(self):
        setattr(self, "0", Twice())

    def __call__(self, x):
        return getattr(self, "0")(x)


class Twice(nnx.Module):
    """Twice (interpretation/test_interpretation.py:0)."""

    def __call__(self, image):
        return double(image)


def double(values):
    """double (interpretation/test_interpretation.py:0)."""
    values = values + 1
    return jnp.sin(values * values)
