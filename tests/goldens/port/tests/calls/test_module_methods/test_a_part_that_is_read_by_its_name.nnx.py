"""JAX port of ByName (calls/test_module_methods.py), written by jaxgrad.port for torch 2.13.

What begins as jnp.empty gets its value from `jaxgrad.nnx.load_state_dict(model, state_dict)`.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class ByName(nnx.Module):
    """ByName (calls/test_module_methods.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = nnx.BatchStat(jnp.empty((), jnp.float32))
        self.layer_0 = Linear(4, 4, rngs=rngs)
        self.layer_1 = nnx.Sequential(Linear(4, 4, rngs=rngs))
        self.again = self.layer_0  # tied

    def __call__(self, x):
        x = jnp.tanh(self.layer_0(x))
        x = jnp.tanh(self.layer_1(x))
        x = self.layer_1.layers[0](x) * self.scale[...]
        return x + 2
