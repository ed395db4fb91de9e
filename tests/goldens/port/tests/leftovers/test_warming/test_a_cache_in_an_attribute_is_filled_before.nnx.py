"""JAX port of Cached (leftovers/test_warming.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- p['mask'].shape[0] >= x.shape[0] (test_warming.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Cached(nnx.Module):
    """Cached (leftovers/test_warming.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.mask = nnx.Cache(
            jnp.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]], jnp.float32)
        )
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        assert self.mask[...].shape[0] >= x.shape[0], (
            "this port holds for p['mask'].shape[0] >= x.shape[0]: torch takes another branch "
            "otherwise (test_warming.py:0)"
        )
        n = x.shape[0]
        return self.mask[...][:n, :n] @ self.fc(x)

# ---- the next port of this test ----
"""JAX port of Cached (leftovers/test_warming.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- p['mask'].shape[0] >= x.shape[0] (test_warming.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Cached(nnx.Module):
    """Cached (leftovers/test_warming.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.mask = nnx.Cache(
            jnp.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]], jnp.float32)
        )
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        assert self.mask[...].shape[0] >= x.shape[0], (
            "this port holds for p['mask'].shape[0] >= x.shape[0]: torch takes another branch "
            "otherwise (test_warming.py:0)"
        )
        n = x.shape[0]
        return self.mask[...][:n, :n] @ self.fc(x)
