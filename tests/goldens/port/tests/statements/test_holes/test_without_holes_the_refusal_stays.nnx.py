# PortError: test_holes.py:0 `loud = h[mask].mean()`: a mask as an index makes a size that depends on values; use torch.where; or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand

# ---- the next port of this test ----
"""JAX port of Reads (statements/test_holes.py), written by jaxgrad.port for torch 2.13.

It is for eval mode only. The train mode of the module cannot be ported: test_holes.py:0 `loud =
  h[mask].mean()`: a mask as an index makes a size that depends on values; use torch.where
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Reads(nnx.Module):
    """Reads (statements/test_holes.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)
        self.out = Linear(3, 2, rngs=rngs)

    def __call__(self, x, mask):
        h = self.fc(x)
        return self.out(jnp.tanh(h))

# ---- the next port of this test ----
"""JAX port of Linear (torch.nn.modules.linear), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")


class Linear(nnx.Module):
    """torch.nn.Linear.

    `jaxgrad.nnx.load_state_dict` sets `weight` and `bias`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self):
        self.weight = nnx.Param(jnp.empty((2, 3), jnp.float32))
        self.bias = nnx.Param(jnp.empty(2, jnp.float32))

    def __call__(self, x):
        return F.linear(x, self.weight[...], self.bias[...])

# ---- the next port of this test ----
"""JAX port of Linear (torch.nn.modules.linear), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")


class Linear(nnx.Module):
    """torch.nn.Linear.

    `jaxgrad.nnx.load_state_dict` sets `weight` and `bias`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self):
        self.weight = nnx.Param(jnp.empty((2, 3), jnp.float32))
        self.bias = nnx.Param(jnp.empty(2, jnp.float32))

    def __call__(self, x):
        return F.linear(x, self.weight[...], self.bias[...])
