"""JAX port of Padded (port/test_port.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- x.shape[1] <= 64 (test_port.py:0)
"""

from flax import nnx


class Padded(nnx.Module):
    """Padded (port/test_port.py:0)."""

    def __call__(self, x):
        assert x.shape[1] <= 64, (
            "this port holds for x.shape[1] <= 64: torch takes another branch otherwise "
            "(test_port.py:0)"
        )
        return x * 2
