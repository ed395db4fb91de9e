"""JAX port of Masked (calls/test_memory.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

import jax
import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jaxgrad.nnx import Linear


class Masked(nnx.Module):
    """Attention hides scores by their data, so that the mask has no part in the backward pass.

    Masked (calls/test_memory.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        scores = self.fc(x)
        scores = jaxgrad.straight_through(lambda scores: jnp.where(x > 1, -jnp.inf, scores))(scores)
        return jax.nn.softmax(scores, axis=1)

# ---- the next port of this test ----
"""JAX port of Masked (calls/test_memory.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

import jax
import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jaxgrad.nnx import Linear


class Masked(nnx.Module):
    """Attention hides scores by their data, so that the mask has no part in the backward pass.

    Masked (calls/test_memory.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        scores = self.fc(x)
        scores = jaxgrad.straight_through(lambda scores: jnp.where(x > 1, -jnp.inf, scores))(scores)
        return jax.nn.softmax(scores, axis=1)
