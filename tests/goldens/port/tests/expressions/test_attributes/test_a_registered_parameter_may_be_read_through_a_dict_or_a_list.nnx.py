"""JAX port of Named (expressions/test_attributes.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Named(nnx.Module):
    """Parameters that the code reads through a dict and a list of the module.

    Named (expressions/test_attributes.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = nnx.Param(jnp.ones(3, jnp.float32))
        self.layer = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return self.layer(x) * self.scale[...] + self.layer.bias[...] + self.scale[...]

# ---- the next port of this test ----
"""JAX port of Named (expressions/test_attributes.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Named(nnx.Module):
    """Parameters that the code reads through a dict and a list of the module.

    Named (expressions/test_attributes.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = nnx.Param(jnp.ones(3, jnp.float32))
        self.layer = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return self.layer(x) * self.scale[...] + self.layer.bias[...] + self.scale[...]
