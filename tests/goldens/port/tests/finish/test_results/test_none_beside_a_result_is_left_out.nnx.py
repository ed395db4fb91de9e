"""JAX port of Two (finish/test_results.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Two(nnx.Module):
    """Two (finish/test_results.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Attention(rngs=rngs)
        self.second = Attention(rngs=rngs)

    def __call__(self, x):
        x, _ = self.first(x)
        x, _ = self.second(x)
        return x


class Attention(nnx.Module):
    """Attention (finish/test_results.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.project = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return self.project(x), None

# ---- the next port of this test ----
"""JAX port of Two (finish/test_results.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Two(nnx.Module):
    """Two (finish/test_results.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Attention(rngs=rngs)
        self.second = Attention(rngs=rngs)

    def __call__(self, x):
        x, _ = self.first(x)
        x, _ = self.second(x)
        return x


class Attention(nnx.Module):
    """Attention (finish/test_results.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.project = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return self.project(x), None
