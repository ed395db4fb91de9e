"""JAX port of Rows (nnx/test_port.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Rows(nnx.Module):
    """Rows (nnx/test_port.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.row = Row(rngs=rngs)
        self.last = Row2(rngs=rngs)

    def __call__(self, x):
        return self.last(jnp.tanh(self.row(x)))


class Row(nnx.Module):
    """A list class of the user's, which goes over itself.

    Row (nnx/test_port.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", Linear(3, 3, rngs=rngs))
        setattr(self, "1", Linear(3, 3, rngs=rngs))

    def __call__(self, input_):
        x = input_
        for part in self:
            x = part(x)
        return x

    def __iter__(self):
        return (getattr(self, str(number)) for number in range(2))


class Row2(nnx.Module):
    """A list class of the user's, which goes over itself.

    Row (nnx/test_port.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", Linear(3, 3, rngs=rngs))

    def __call__(self, input_):
        x = input_
        return getattr(self, "0")(x)

# ---- the next port of this test ----
"""JAX port of Rows (nnx/test_port.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Rows(nnx.Module):
    """Rows (nnx/test_port.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.row = Row(rngs=rngs)
        self.last = Row2(rngs=rngs)

    def __call__(self, x):
        return self.last(jnp.tanh(self.row(x)))


class Row(nnx.Module):
    """A list class of the user's, which goes over itself.

    Row (nnx/test_port.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", Linear(3, 3, rngs=rngs))
        setattr(self, "1", Linear(3, 3, rngs=rngs))

    def __call__(self, input_):
        x = input_
        for part in self:
            x = part(x)
        return x

    def __iter__(self):
        return (getattr(self, str(number)) for number in range(2))


class Row2(nnx.Module):
    """A list class of the user's, which goes over itself.

    Row (nnx/test_port.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", Linear(3, 3, rngs=rngs))

    def __call__(self, input_):
        x = input_
        return getattr(self, "0")(x)
