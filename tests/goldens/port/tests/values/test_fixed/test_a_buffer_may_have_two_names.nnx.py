"""JAX port of Shared (values/test_fixed.py), written by jaxgrad.port for torch 2.13.

Constants in the constructors are the values that the torch module had when this file was written;
  `jaxgrad.nnx.load_state_dict(model, state_dict)` loads others.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Shared(nnx.Module):
    """One tensor is a buffer with two names, as in a flow that shares its mask.

    Shared (values/test_fixed.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.mask = nnx.BatchStat(jnp.array([1.0, 0.0, 1.0], jnp.float32))
        self.again = nnx.BatchStat(jnp.array([1.0, 0.0, 1.0], jnp.float32))
        self.fc = Linear(3, 3, rngs=rngs)
        self.again = self.mask  # tied

    def __call__(self, x):
        return self.fc(x * self.mask[...]) + self.again[...]
