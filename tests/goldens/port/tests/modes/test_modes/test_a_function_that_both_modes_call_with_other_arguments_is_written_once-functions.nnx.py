"""JAX port of NoisyCopies (modes/test_modes.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class NoisyCopies(nnx.Module):
    """A flow that adds noise in train mode, so that its modes call a method differently.

    NoisyCopies (modes/test_modes.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.net = nnx.Sequential(Linear(3, 3, rngs=rngs), jnp.tanh)
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, x):
        if not self.deterministic:
            uniform_rng = self.rngs()
            noise = jax.random.uniform(uniform_rng, x.shape, x.dtype)
            z, total = self.encode(x + noise)
        else:
            z, total = self.encode(x + 0.0)
        return z + total[:, None]

    def encode(self, x):
        h = self.net(x)
        return h * 2, h.sum(axis=-1)
