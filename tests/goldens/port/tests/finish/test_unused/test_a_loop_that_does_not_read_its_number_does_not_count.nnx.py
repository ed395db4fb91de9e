"""JAX port of Numbered (finish/test_unused.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- x.ndim == 2 (test_unused.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Numbered(nnx.Module):
    """Numbered (finish/test_unused.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(3, 3, rngs=rngs) for _ in range(2)])

    def __call__(self, x):
        assert x.ndim == 2, "this port holds for x.ndim == 2, as in the example"
        for n, layer in enumerate(self.layers):
            x = jnp.tanh(layer(x))
        return x

# ---- the next port of this test ----
"""JAX port of Numbered (finish/test_unused.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- x.ndim == 2 (test_unused.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Numbered(nnx.Module):
    """Numbered (finish/test_unused.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(3, 3, rngs=rngs) for _ in range(2)])

    def __call__(self, x):
        assert x.ndim == 2, "this port holds for x.ndim == 2, as in the example"
        for n, layer in enumerate(self.layers):
            x = jnp.tanh(layer(x))
        return x
