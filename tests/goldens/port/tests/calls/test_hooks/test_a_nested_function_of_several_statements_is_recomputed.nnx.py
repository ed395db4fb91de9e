"""JAX port of Nested (calls/test_hooks.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Dropout, Linear


class Nested(nnx.Module):
    """A module that checkpoints a nested function, as torchvision's DenseNet does.

    Nested (calls/test_hooks.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.Sequential(Linear(6, 6, rngs=rngs), Dropout(0.2, rngs=rngs))
        self.out = Linear(6, 2, rngs=rngs)

    def __call__(self, x):
        scale = jax.nn.sigmoid(x)

        def recomputed(x):
            joined = jnp.concatenate([x, scale], axis=1)
            joined = joined * jnp.tanh(joined)
            return self.layers(joined) * 2

        return self.out(jax.checkpoint(recomputed)(x))
