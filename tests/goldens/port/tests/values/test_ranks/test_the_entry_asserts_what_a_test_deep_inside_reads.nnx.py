"""JAX port of Deep (values/test_ranks.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- x.ndim == 3 (test_ranks.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Deep(nnx.Module):
    """Deep (values/test_ranks.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)
        self.pooled = Pooled()

    def __call__(self, x):
        assert x.ndim == 3, "this port holds for x.ndim == 3, as in the example"
        h = self.linear(x)
        return self.pooled(h)


class Pooled(nnx.Module):
    """Pooled (values/test_ranks.py:0)."""

    def __call__(self, h):
        return h.mean(axis=1)

# ---- the next port of this test ----
"""JAX port of Deep (values/test_ranks.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- x.ndim == 3 (test_ranks.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Deep(nnx.Module):
    """Deep (values/test_ranks.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)
        self.pooled = Pooled()

    def __call__(self, x):
        assert x.ndim == 3, "this port holds for x.ndim == 3, as in the example"
        h = self.linear(x)
        return self.pooled(h)


class Pooled(nnx.Module):
    """Pooled (values/test_ranks.py:0)."""

    def __call__(self, h):
        return h.mean(axis=1)
