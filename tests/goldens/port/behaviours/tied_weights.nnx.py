"""JAX port of TiedWeights (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class TiedWeights(nnx.Module):
    """TiedWeights (port_collection/behaviours.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.encode = Linear(3, 4, bias=False, rngs=rngs)
        self.decode = Linear(4, 3, rngs=rngs)
        self.mirror = Linear(3, 4, bias=False, rngs=rngs)
        self.mirror.weight = self.encode.weight  # tied

    def __call__(self, x):
        return self.decode(jnp.tanh(self.encode(x)) * self.mirror(x))
