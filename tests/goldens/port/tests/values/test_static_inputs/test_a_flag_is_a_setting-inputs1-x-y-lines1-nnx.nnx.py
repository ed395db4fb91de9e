"""JAX port of Decoder (values/test_static_inputs.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Decoder(nnx.Module):
    """Decoder (values/test_static_inputs.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x, y):
        h = self.fc(x)
        return h[1:]
