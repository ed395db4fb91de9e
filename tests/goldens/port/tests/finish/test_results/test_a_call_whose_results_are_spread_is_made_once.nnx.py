"""JAX port of Spread (finish/test_results.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Spread(nnx.Module):
    """Spread (finish/test_results.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.project = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        parts = halves(self.project(x))[1:]
        return product(parts[0], parts[1])


def product(a, b):
    """product (finish/test_results.py:0)."""
    c = a * b
    return c + a


def halves(x):
    """halves (finish/test_results.py:0)."""
    x = x * 2
    return None, x[..., :2], x[..., 2:]

# ---- the next port of this test ----
"""JAX port of Spread (finish/test_results.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Spread(nnx.Module):
    """Spread (finish/test_results.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.project = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        parts = halves(self.project(x))[1:]
        return product(parts[0], parts[1])


def product(a, b):
    """product (finish/test_results.py:0)."""
    c = a * b
    return c + a


def halves(x):
    """halves (finish/test_results.py:0)."""
    x = x * 2
    return None, x[..., :2], x[..., 2:]
