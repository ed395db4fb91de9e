"""JAX port of Stack (finish/test_distinct.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Stack(nnx.Module):
    """Stack (finish/test_distinct.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Unit(rngs=rngs), Unit2(rngs=rngs), Unit2(rngs=rngs)])

    def __call__(self, x):
        x = self.layers[0](x)
        x = self.layers[1](x)
        return self.layers[2](x)


class Unit(nnx.Module):
    """Unit (finish/test_distinct.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.body = nnx.Sequential(Linear(3, 3, rngs=rngs))

    def __call__(self, x):
        h = self.body(x)
        return jnp.tanh(h)


class Unit2(nnx.Module):
    """Unit (finish/test_distinct.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.body = nnx.Sequential(
            Linear(3, 3, rngs=rngs), Linear(3, 3, rngs=rngs), Linear(3, 3, rngs=rngs)
        )

    def __call__(self, x):
        h = self.body(x)
        h = jnp.tanh(h)
        h = jax.nn.sigmoid(h)
        return jax.nn.relu(h)

# ---- the next port of this test ----
"""JAX port of Stack (finish/test_distinct.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Stack(nnx.Module):
    """Stack (finish/test_distinct.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Unit(rngs=rngs), Unit2(rngs=rngs), Unit2(rngs=rngs)])

    def __call__(self, x):
        x = self.layers[0](x)
        x = self.layers[1](x)
        return self.layers[2](x)


class Unit(nnx.Module):
    """Unit (finish/test_distinct.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.body = nnx.Sequential(Linear(3, 3, rngs=rngs))

    def __call__(self, x):
        h = self.body(x)
        return jnp.tanh(h)


class Unit2(nnx.Module):
    """Unit (finish/test_distinct.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.body = nnx.Sequential(
            Linear(3, 3, rngs=rngs), Linear(3, 3, rngs=rngs), Linear(3, 3, rngs=rngs)
        )

    def __call__(self, x):
        h = self.body(x)
        h = jnp.tanh(h)
        h = jax.nn.sigmoid(h)
        return jax.nn.relu(h)

# ---- the next port of this test ----
"""JAX port of Stack (finish/test_distinct.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Stack(nnx.Module):
    """Stack (finish/test_distinct.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Unit(rngs=rngs), Unit2(rngs=rngs), Unit2(rngs=rngs)])

    def __call__(self, x):
        x = self.layers[0](x)
        x = self.layers[1](x)
        return self.layers[2](x)


class Unit(nnx.Module):
    """Unit (finish/test_distinct.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.body = nnx.Sequential(
            Linear(3, 3, rngs=rngs), Linear(3, 3, rngs=rngs), Linear(3, 3, rngs=rngs)
        )

    def __call__(self, x):
        h = self.body(x)
        h = jnp.tanh(h)
        h = jax.nn.sigmoid(h)
        return jax.nn.relu(h)


class Unit2(nnx.Module):
    """Unit (finish/test_distinct.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.body = nnx.Sequential(Linear(3, 3, rngs=rngs))

    def __call__(self, x):
        h = self.body(x)
        return jnp.tanh(h)

# ---- the next port of this test ----
"""JAX port of Stack (finish/test_distinct.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Stack(nnx.Module):
    """Stack (finish/test_distinct.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Unit(rngs=rngs), Unit2(rngs=rngs), Unit2(rngs=rngs)])

    def __call__(self, x):
        x = self.layers[0](x)
        x = self.layers[1](x)
        return self.layers[2](x)


class Unit(nnx.Module):
    """Unit (finish/test_distinct.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.body = nnx.Sequential(Linear(3, 3, rngs=rngs))

    def __call__(self, x):
        h = self.body(x)
        return jnp.tanh(h)


class Unit2(nnx.Module):
    """Unit (finish/test_distinct.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.body = nnx.Sequential(
            Linear(3, 3, rngs=rngs), Linear(3, 3, rngs=rngs), Linear(3, 3, rngs=rngs)
        )
        self.shortcut = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        h = self.body(x)
        h = jnp.tanh(h)
        h = jax.nn.sigmoid(h)
        return jax.nn.relu(h)
