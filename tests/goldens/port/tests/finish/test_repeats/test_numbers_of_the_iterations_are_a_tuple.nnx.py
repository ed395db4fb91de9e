"""JAX port of Dilated (finish/test_repeats.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Conv1d

F = functional.at("2.13")


class Dilated(nnx.Module):
    """Convolutions with a dilation each, whose outputs are added up.

    Dilated (finish/test_repeats.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.filters = nnx.List(
            [
                Conv1d(4, 4, 2, rngs=rngs),
                Conv1d(4, 4, 2, dilation=2, rngs=rngs),
                Conv1d(4, 4, 2, dilation=4, rngs=rngs),
            ]
        )

    def __call__(self, x):
        total = 0
        x = x + self.filters[0](F.pad(x, (1, 0)))
        total = total + jnp.tanh(x)
        x = x + self.filters[1](F.pad(x, (2, 0)))
        total = total + jnp.tanh(x)
        x = x + self.filters[2](F.pad(x, (4, 0)))
        return total + jnp.tanh(x)

# ---- the next port of this test ----
"""JAX port of Dilated (finish/test_repeats.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Conv1d

F = functional.at("2.13")


class Dilated(nnx.Module):
    """Convolutions with a dilation each, whose outputs are added up.

    Dilated (finish/test_repeats.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.filters = nnx.List(
            [
                Conv1d(4, 4, 2, rngs=rngs),
                Conv1d(4, 4, 2, dilation=2, rngs=rngs),
                Conv1d(4, 4, 2, dilation=4, rngs=rngs),
            ]
        )

    def __call__(self, x):
        total = 0
        x = x + self.filters[0](F.pad(x, (1, 0)))
        total = total + jnp.tanh(x)
        x = x + self.filters[1](F.pad(x, (2, 0)))
        total = total + jnp.tanh(x)
        x = x + self.filters[2](F.pad(x, (4, 0)))
        return total + jnp.tanh(x)

# ---- the next port of this test ----
"""JAX port of Dilated (finish/test_repeats.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Conv1d

F = functional.at("2.13")


class Dilated(nnx.Module):
    """Convolutions with a dilation each, whose outputs are added up.

    Dilated (finish/test_repeats.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.filters = nnx.List(
            [
                Conv1d(4, 4, 2, rngs=rngs),
                Conv1d(4, 4, 2, dilation=2, rngs=rngs),
                Conv1d(4, 4, 2, dilation=4, rngs=rngs),
            ]
        )

    def __call__(self, x):
        total = 0
        x = x + self.filters[0](F.pad(x, (1, 0)))
        total = total + jnp.tanh(x)
        x = x + self.filters[1](F.pad(x, (2, 0)))
        total = total + jnp.tanh(x)
        x = x + self.filters[2](F.pad(x, (4, 0)))
        return total + jnp.tanh(x)
