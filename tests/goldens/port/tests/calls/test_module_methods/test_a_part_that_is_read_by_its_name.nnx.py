"""JAX port of ByName (calls/test_module_methods.py), written by jaxgrad.port for torch 2.13.

Constants in the constructors are the values that the torch module had when this file was written;
  `jaxgrad.nnx.load_state_dict(model, state_dict)` loads others.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class ByName(nnx.Module):
    """ByName (calls/test_module_methods.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = nnx.BatchStat(jnp.array(2.0, jnp.float32))
        self.layer_0 = Linear(4, 4, rngs=rngs)
        self.layer_1 = nnx.Sequential(Linear(4, 4, rngs=rngs))
        self.again = self.layer_0  # tied

    def __call__(self, x):
        x = jnp.tanh(self.layer_0(x))
        x = jnp.tanh(self.layer_1(x))
        x = self.layer_1.layers[0](x) * self.scale[...]
        return x + 2
