"""JAX port of Scaled (merging/test_numbers.py), written by jaxgrad.port for torch 2.13."""

import math

from flax import nnx
from jaxgrad.nnx import Linear


class Scaled(nnx.Module):
    """Scaled (merging/test_numbers.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = 1 / math.sqrt(18)
        self.fc = Linear(8, 8, rngs=rngs)

    def __call__(self, x):
        return self.fc(x) * self.scale + self.scale

# ---- the next port of this test ----
"""JAX port of Scaled (merging/test_numbers.py), written by jaxgrad.port for torch 2.13."""

import math

from flax import nnx
from jaxgrad.nnx import Linear


class Scaled(nnx.Module):
    """Scaled (merging/test_numbers.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = 1 / math.sqrt(18)
        self.fc = Linear(8, 8, rngs=rngs)

    def __call__(self, x):
        return self.fc(x) * self.scale + self.scale
