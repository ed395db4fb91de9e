"""JAX port of Spread (loops/test_loops.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Spread(nnx.Module):
    """Spread (loops/test_loops.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(4, 4, rngs=rngs) for _ in range(3)])

    def __call__(self, x):
        both = [self.layers, self.others]
        for layer, other in [
            (both[0][0], both[1][0]), (both[0][1], both[1][1]), (both[0][2], both[1][2])
        ]:
            x = jnp.tanh(layer(x))
        return x
