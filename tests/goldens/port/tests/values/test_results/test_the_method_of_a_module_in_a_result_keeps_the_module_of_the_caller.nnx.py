"""JAX port of Solver (values/test_results.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Solver(nnx.Module):
    """Solver (values/test_results.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return self.solve(self, x)

    def rate(self, x):
        return jnp.tanh(self.fc(x))

    def solve(self, function, x):
        function_2, x = with_scale(x)
        return x + scaled(function, function_2["scale"], x)


def scaled(function, scale, x):
    """A module that is made in the forward pass of a method, as a solver wraps its function.

    Scaled (values/test_results.py:0).
    """
    return function.rate(x) * scale


def with_scale(x):
    """with_scale (values/test_results.py:0)."""
    scale = x.mean()
    scale_2 = scale
    return {"function": None, "scale": scale_2}, x

# ---- the next port of this test ----
"""JAX port of Nested (values/test_results.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Nested(nnx.Module):
    """Nested (values/test_results.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return self.solve(self, x)

    def rate(self, x):
        return jnp.tanh(self.fc(x))

    def solve(self, function, x):
        function_2 = scaled(x)
        return x + scaled_2(function, function_2["scale"], x)


def scaled_2(function, scale, x):
    """A module that is made in the forward pass of a method, as a solver wraps its function.

    Scaled (values/test_results.py:0).
    """
    return function.rate(x) * scale


def scaled(x):
    """scaled (values/test_results.py:0)."""
    scale = x.mean()
    scale_2 = scale
    return {"function": None, "scale": scale_2}
