"""JAX port of Written (finish/test_repeats.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Conv1d


class Written(nnx.Module):
    """Written (finish/test_repeats.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List(
            [
                Conv1d(4, 4, 1, rngs=rngs),
                Conv1d(4, 4, 3, padding=1, rngs=rngs),
                Conv1d(4, 4, 1, rngs=rngs),
                Conv1d(4, 4, 3, padding=1, rngs=rngs),
                Conv1d(4, 4, 1, rngs=rngs),
                Conv1d(4, 4, 3, padding=1, rngs=rngs),
            ]
        )

    def __call__(self, x):
        x = jnp.tanh(self.layers[0](x))
        x = jnp.tanh(self.layers[2](x))
        x = jnp.tanh(self.layers[4](x))
        x = jnp.tanh(self.layers[1](x))
        x = jnp.tanh(self.layers[3](x))
        return jnp.tanh(self.layers[5](x))
