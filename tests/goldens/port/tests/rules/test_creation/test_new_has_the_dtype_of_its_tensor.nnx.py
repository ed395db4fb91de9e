"""JAX port of Old (rules/test_creation.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Old(nnx.Module):
    """`new` of old programs: sizes or numbers.

    Old (rules/test_creation.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        start = lax.stop_gradient(self.fc.weight[...])
        start = jnp.zeros_like(jnp.empty((x.shape[0], 4), dtype=start.dtype))
        return self.fc(x) * (1 + start) * jnp.array([1.0, 2.0, 3.0, 4.0], dtype=x.dtype)

# ---- the next port of this test ----
"""JAX port of Old (rules/test_creation.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Old(nnx.Module):
    """`new` of old programs: sizes or numbers.

    Old (rules/test_creation.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        start = lax.stop_gradient(self.fc.weight[...])
        start = jnp.zeros_like(jnp.empty((x.shape[0], 4), dtype=start.dtype))
        return self.fc(x) * (1 + start) * jnp.array([1.0, 2.0, 3.0, 4.0], dtype=x.dtype)
