"""JAX port of Encoder (ports/recurrent.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import GRU, Linear


class Encoder(nnx.Module):
    """Encoder (ports/recurrent.py:0).

    `jaxgrad.nnx.load_state_dict` sets `start`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.start = nnx.Param(jnp.empty((2, 1, 4), jnp.float64))
        self.gru = GRU(3, 4, batch_first=True, bidirectional=True, dtype=jnp.float64, rngs=rngs)
        self.out = Linear(8, 1, dtype=jnp.float64, rngs=rngs)

    def __call__(self, x):
        y = jnp.broadcast_to(
            self.start[...], (self.start[...].shape[0], x.shape[0], self.start[...].shape[2])
        )
        out, last = self.gru(x, y)
        return self.out(out).squeeze(axis=-1), last
