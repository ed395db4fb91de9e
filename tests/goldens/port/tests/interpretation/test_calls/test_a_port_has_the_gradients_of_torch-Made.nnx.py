"""JAX port of Made (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Made(nnx.Module):
    """A module that makes modules without parameters in its forward.

    Made (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        y = sequential(F.leaky_relu(self.first(x), negative_slope=0.3))
        return y + lax.stop_gradient(jax.nn.softmax(self.second(x), axis=-1))


def sequential(x):
    """torch.nn.Sequential."""
    x = F.softplus(x, beta=2)
    x = jnp.tanh(x)
    return x

# ---- the next port of this test ----
"""JAX port of Made (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Made(nnx.Module):
    """A module that makes modules without parameters in its forward.

    Made (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        y = sequential(F.leaky_relu(self.first(x), negative_slope=0.3))
        return y + lax.stop_gradient(jax.nn.softmax(self.second(x), axis=-1))


def sequential(x):
    """torch.nn.Sequential."""
    x = F.softplus(x, beta=2)
    x = jnp.tanh(x)
    return x

# ---- the next port of this test ----
"""JAX port of Made (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Made(nnx.Module):
    """A module that makes modules without parameters in its forward.

    Made (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        y = sequential(F.leaky_relu(self.first(x), negative_slope=0.3))
        return y + lax.stop_gradient(jax.nn.softmax(self.second(x), axis=-1))


def sequential(x):
    """torch.nn.Sequential."""
    x = F.softplus(x, beta=2)
    x = jnp.tanh(x)
    return x

# ---- the next port of this test ----
"""JAX port of Made (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Made(nnx.Module):
    """A module that makes modules without parameters in its forward.

    Made (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        y = sequential(F.leaky_relu(self.first(x), negative_slope=0.3))
        return y + lax.stop_gradient(jax.nn.softmax(self.second(x), axis=-1))


def sequential(x):
    """torch.nn.Sequential."""
    x = F.softplus(x, beta=2)
    x = jnp.tanh(x)
    return x
