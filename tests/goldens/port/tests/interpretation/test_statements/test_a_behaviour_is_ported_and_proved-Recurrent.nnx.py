"""JAX port of Recurrent (interpretation/test_statements.py), written by jaxgrad.port for torch
  2.13.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import GRU, LSTM


class Recurrent(nnx.Module):
    """Recurrent layers.

    Recurrent (interpretation/test_statements.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.lstm = LSTM(4, 3, bidirectional=True, rngs=rngs)
        self.gru = GRU(6, 2, batch_first=True, rngs=rngs)

    def __call__(self, x):
        y, pair = self.lstm(jnp.tile(x[None], (2, 1, 1)))
        h, _ = pair
        return self.gru(y.swapaxes(0, 1))[0] + h.mean()
