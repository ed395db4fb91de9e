"""JAX port of Scaled (loops/test_loops.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Scaled(nnx.Module):
    """The params of the inner lists are dicts, which a loop cannot unpack.

    Scaled (loops/test_loops.py:0).

    `jaxgrad.nnx.load_state_dict` sets `scales`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(4, 4, rngs=rngs) for _ in range(2)])
        self.scales = nnx.List(
            [nnx.List([nnx.Param(jnp.empty(4, jnp.float32)) for _ in range(2)]) for _ in range(2)]
        )

    def __call__(self, x):
        x = self.layers[0](x) * self.scales[0][0][...] + self.scales[0][1][...]
        return self.layers[1](x) * self.scales[1][0][...] + self.scales[1][1][...]
