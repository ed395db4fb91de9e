"""JAX port of Copied (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Copied(nnx.Module):
    """Copied (calls/test_inplace.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        out = jnp.empty((3, 8))
        out = out.at[:, :4].set(self.first(x))
        out = out.at[:, 4:].set(jnp.broadcast_to(self.second(x)[0], out[:, 4:].shape))
        return jnp.tanh(out)

# ---- the next port of this test ----
"""JAX port of Copied (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Copied(nnx.Module):
    """Copied (calls/test_inplace.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        out = jnp.empty((3, 8))
        out = out.at[:, :4].set(self.first(x))
        out = out.at[:, 4:].set(jnp.broadcast_to(self.second(x)[0], out[:, 4:].shape))
        return jnp.tanh(out)

# ---- the next port of this test ----
"""JAX port of Copied (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Copied(nnx.Module):
    """Copied (calls/test_inplace.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        out = jnp.empty((3, 8))
        out = out.at[:, :4].set(self.first(x))
        out = out.at[:, 4:].set(jnp.broadcast_to(self.second(x)[0], out[:, 4:].shape))
        return jnp.tanh(out)
