"""JAX port of Reader (modules/test_recurrent_modules.py), written by jaxgrad.port for torch 2.13.
"""

from flax import nnx
from jaxgrad.nnx import LSTM


class Reader(nnx.Module):
    """Reader (modules/test_recurrent_modules.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.rnn = LSTM(4, 5, num_layers=2, bidirectional=True, rngs=rngs)

    def __call__(self, x, start):
        return self.rnn(x, start)
