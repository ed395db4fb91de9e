"""JAX port of Squeezed (values/test_ranks.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- y.ndim == 2 (test_ranks.py:0)
"""

from flax import nnx


class Squeezed(nnx.Module):
    """Squeezed (values/test_ranks.py:0)."""

    def __call__(self, x):
        y = x.squeeze()
        assert y.ndim == 2, (
            "this port holds for y.ndim == 2: torch takes another branch otherwise "
            "(test_ranks.py:0)"
        )
        return y.sum(axis=0)
