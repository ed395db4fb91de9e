"""JAX port of Constants (nnx/test_initial_values.py), written by jaxgrad.port for torch 2.13.

Constants in the constructors are the values that the torch module had when this file was written;
  `jaxgrad.nnx.load_state_dict(model, state_dict)` loads others.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import LayerNorm, Linear


class Constants(nnx.Module):
    """A module that fills parameters of its layers, and has a table.

    Constants (nnx/test_initial_values.py:0).

    `jaxgrad.nnx.load_state_dict` sets `embed`, which the constructor leaves as `jnp.empty`. No
    state_dict has `table`, which the constructor leaves as `jnp.empty`: copy torch's values.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.embed = nnx.Param(jnp.empty(3, jnp.float32))
        self.project = nnx.BatchStat(jnp.arange(3, dtype=jnp.float32))
        self.table = nnx.Cache(jnp.empty(100, jnp.float32))
        self.fc = Linear(3, 4, rngs=rngs)
        self.fc.bias[...] = jnp.full_like(self.fc.bias[...], -2.0)
        self.norm = LayerNorm(4)
        self.head = nnx.Sequential(Linear(4, 4, rngs=rngs), jax.nn.relu, Linear(4, 3, rngs=rngs))
        self.head.layers[2].weight[...] = jnp.zeros_like(self.head.layers[2].weight[...])
        self.first = Scale(scale_init=0.5)
        self.second = Scale(scale_init=2.0)

    def __call__(self, x):
        x = self.head(self.norm(self.fc(x))) + self.first(x) * self.second(self.project[...])
        return x + self.table[...][:3] + self.embed[...]


class Scale(nnx.Module):
    """Scale (nnx/test_initial_values.py:0)."""

    def __init__(self, scale_init):
        self.scale = nnx.Param(jnp.full(3, scale_init, jnp.float32))

    def __call__(self, x):
        return x * self.scale[...]
