"""JAX port of Masks (rules/test_creation.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- torch.arange(1, x.ndim).tolist() == [1] (test_creation.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Masks(nnx.Module):
    """Masks (rules/test_creation.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        same = (x > 0).astype(jnp.uint8)
        return (self.fc(x) * (same ^ 1)).sum(axis=[1])

# ---- the next port of this test ----
"""JAX port of Masks (rules/test_creation.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- torch.arange(1, x.ndim).tolist() == [1] (test_creation.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Masks(nnx.Module):
    """Masks (rules/test_creation.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        same = (x > 0).astype(jnp.uint8)
        return (self.fc(x) * (same ^ 1)).sum(axis=[1])
