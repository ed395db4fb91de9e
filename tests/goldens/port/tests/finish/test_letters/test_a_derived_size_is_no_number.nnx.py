"""JAX port of Halves (finish/test_letters.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Conv2d


class Halves(nnx.Module):
    """Halves (finish/test_letters.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.conv = Conv2d(3, 3, 3, stride=2, rngs=rngs)

    def __call__(self, x):
        return self.flat(self.conv(x[: x.shape[0] // 2 * 2]))

    def flat(self, x):
        assert int(x.shape[2] * 1.0) > 0  # no symbol
        return jnp.tanh(x).swapaxes(1, 2).reshape(-1, 3, x.shape[3])

# ---- the next port of this test ----
"""JAX port of Halves (finish/test_letters.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Conv2d


class Halves(nnx.Module):
    """Halves (finish/test_letters.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.conv = Conv2d(3, 3, 3, stride=2, rngs=rngs)

    def __call__(self, x):
        return self.flat(self.conv(x[: x.shape[0] // 2 * 2]))

    def flat(self, x):
        assert int(x.shape[2] * 1.0) > 0  # no symbol
        return jnp.tanh(x).swapaxes(1, 2).reshape(-1, 3, x.shape[3])
