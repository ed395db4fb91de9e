"""JAX port of Scaled (expressions/test_operators.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Scaled(nnx.Module):
    """Scaled (expressions/test_operators.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = 6**-0.5
        self.q = Linear(4, 6, rngs=rngs)
        self.k = Linear(4, 6, rngs=rngs)

    def __call__(self, x):
        q, k = self.q(x), self.k(x)
        scores = q @ k.swapaxes(1, 2) * self.scale
        return (q * self.scale) @ k.swapaxes(1, 2) + scores / 6**0.5 + self.scale * scores

# ---- the next port of this test ----
"""JAX port of Scaled (expressions/test_operators.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Scaled(nnx.Module):
    """Scaled (expressions/test_operators.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = 6**-0.5
        self.q = Linear(4, 6, rngs=rngs)
        self.k = Linear(4, 6, rngs=rngs)

    def __call__(self, x):
        q, k = self.q(x), self.k(x)
        scores = q @ k.swapaxes(1, 2) * self.scale
        return (q * self.scale) @ k.swapaxes(1, 2) + scores / 6**0.5 + self.scale * scores
