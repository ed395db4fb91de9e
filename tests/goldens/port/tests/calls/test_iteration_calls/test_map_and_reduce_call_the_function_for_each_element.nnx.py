"""JAX port of Functional (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Functional(nnx.Module):
    """Functional (calls/test_iteration_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        parts = jnp.array_split(x * x, 2, axis=0)
        a, b = self.scaled(parts[0]), self.scaled(parts[1])
        p_2 = a * b + a
        return p_2 * a + p_2

    def scaled(self, x):
        return self.linear(x) * 2

# ---- the next port of this test ----
"""JAX port of Functional (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Functional(nnx.Module):
    """Functional (calls/test_iteration_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        parts = jnp.array_split(x * x, 2, axis=0)
        a, b = self.scaled(parts[0]), self.scaled(parts[1])
        p_2 = a * b + a
        return p_2 * a + p_2

    def scaled(self, x):
        return self.linear(x) * 2
