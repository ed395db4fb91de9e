"""JAX port of Records (functions/test_constructions.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Records(nnx.Module):
    """Records (functions/test_constructions.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        arguments = {"value": self.fc(x), "mask": None}
        return arguments["value"]
