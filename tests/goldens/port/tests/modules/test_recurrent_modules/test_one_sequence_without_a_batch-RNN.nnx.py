"""JAX port of Reader (modules/test_recurrent_modules.py), written by jaxgrad.port for torch 2.13.
"""

from flax import nnx
from jaxgrad.nnx import RNN


class Reader(nnx.Module):
    """Reader (modules/test_recurrent_modules.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.rnn = RNN(4, 5, batch_first=True, rngs=rngs)

    def __call__(self, x):
        return self.rnn(x, None)
