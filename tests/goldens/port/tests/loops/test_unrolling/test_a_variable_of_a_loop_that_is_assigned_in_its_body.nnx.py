"""JAX port of Reassigned (loops/test_unrolling.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Reassigned(nnx.Module):
    """The body gives the variable of the loop another value; the layers differ.

    Reassigned (loops/test_unrolling.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(4, 2, rngs=rngs), Linear(4, 3, rngs=rngs)])

    def __call__(self, x):
        part = jnp.sin(x)
        part = self.layers[0](part)
        found = (part,)
        part = jnp.cos(x)
        part = self.layers[1](part)
        found = found[0], part
        last = part
        return jnp.concatenate(found, axis=1).sum() + jnp.exp(last).sum() + part.sum()
