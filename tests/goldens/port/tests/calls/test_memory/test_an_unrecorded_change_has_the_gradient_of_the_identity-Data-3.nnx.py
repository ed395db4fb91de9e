"""JAX port of Data (calls/test_memory.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jaxgrad.nnx import Linear


class Data(nnx.Module):
    """Data (calls/test_memory.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        h = jaxgrad.straight_through(lambda h: h.at[:, 0].set(0.5))(h)
        h = jaxgrad.straight_through(lambda h: h.at[:, 1].set(jnp.zeros_like(h[:, 1])))(h)
        h = jaxgrad.straight_through(lambda h: h * 2)(h)
        return h**2

# ---- the next port of this test ----
"""JAX port of Data (calls/test_memory.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jaxgrad.nnx import Linear


class Data(nnx.Module):
    """Data (calls/test_memory.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        h = jaxgrad.straight_through(lambda h: h.at[:, 0].set(0.5))(h)
        h = jaxgrad.straight_through(lambda h: h.at[:, 1].set(jnp.zeros_like(h[:, 1])))(h)
        h = jaxgrad.straight_through(lambda h: h * 2)(h)
        return h**2
