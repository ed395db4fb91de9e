"""JAX port of Skips (expressions/test_displays.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Skips(nnx.Module):
    """A network that collects the states of its blocks, as the UNet of diffusers does.

    Skips (expressions/test_displays.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Down(rngs=rngs)
        self.second = Down2(rngs=rngs)
        self.third = Down2(rngs=rngs)

    def __call__(self, x):
        states = (x,)
        x, more = self.first(x)
        states = states[0], *more
        x, more = self.second(x)
        states = *states, more[0]
        x, more = self.third(x)
        states = *states, more[0]
        return x + states[1] * states[2] + states[3] * states[4]


class Down(nnx.Module):
    """Down (expressions/test_displays.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(3, 3, rngs=rngs) for _ in range(2)])

    def __call__(self, hidden):
        hidden = jnp.tanh(self.layers[0](hidden))
        states = (hidden,)
        hidden = jnp.tanh(self.layers[1](hidden))
        return hidden, (states[0], hidden)


class Down2(nnx.Module):
    """Down (expressions/test_displays.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(3, 3, rngs=rngs)])

    def __call__(self, hidden):
        hidden = jnp.tanh(self.layers[0](hidden))
        return hidden, (hidden,)
