"""JAX port of Residual (finish/test_keys.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Dropout, Linear


class Residual(nnx.Module):
    """Residual (finish/test_keys.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.own = Attend(rngs=rngs)
        self.cross = Attend(rngs=rngs)
        self.drop = Dropout(0.1, rngs=rngs)

    def __call__(self, x):
        x = x + self.drop(self.own(x))
        x = x + self.drop(self.cross(x))
        return self.drop(x**2)


class Attend(nnx.Module):
    """Attend (finish/test_keys.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return jnp.tanh(self.fc(x)) + x

# ---- the next port of this test ----
"""JAX port of Block (finish/test_keys.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Dropout

F = functional.at("2.13")


class Block(nnx.Module):
    """Block (finish/test_keys.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.own = Once(rngs=rngs)
        self.cross = Once(rngs=rngs)
        self.drop = Dropout(0.1, rngs=rngs)

    def __call__(self, x):
        x = x + self.drop(self.own(x))
        return x + self.drop(self.cross(x))


class Once(nnx.Module):
    """Once (finish/test_keys.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, x):
        dropout_rng = None if self.deterministic else self.rngs()
        return F.dropout(jnp.tanh(x), p=0.5, training=not self.deterministic, key=dropout_rng)
