"""JAX port of Flattened (calls/test_module_methods.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import GRU


class Flattened(nnx.Module):
    """Flattened (calls/test_module_methods.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.rnn = GRU(4, 3, batch_first=True, rngs=rngs)

    def __call__(self, x):
        return self.rnn(x)[0]
