"""JAX port of Several (finish/test_results.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Several(nnx.Module):
    """Several (finish/test_results.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.project = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        _, y, _, length = sizes_of(self.project(x))
        return y / length


def sizes_of(x):
    """sizes_of (finish/test_results.py:0)."""
    return None, x * 2, 0, x.shape[1]

# ---- the next port of this test ----
"""JAX port of Several (finish/test_results.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Several(nnx.Module):
    """Several (finish/test_results.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.project = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        _, y, _, length = sizes_of(self.project(x))
        return y / length


def sizes_of(x):
    """sizes_of (finish/test_results.py:0)."""
    return None, x * 2, 0, x.shape[1]
