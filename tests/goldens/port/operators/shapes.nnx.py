"""JAX port of Shapes (port_collection/operators.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Shapes(nnx.Module):
    """Rearrangements of values, none of which has two dimensions of one size.

    Shapes (port_collection/operators.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        inner = self.inner(x)
        h = inner.reshape(inner.shape[0], 2, 2).transpose(1, 0, 2)
        h = jnp.concatenate([h, 2 * h[:, :, :1]], axis=2).swapaxes(0, 2)
        first, second = jnp.split(h.reshape(h.shape[0], -1), [3], axis=1)
        a, b, c = jnp.unstack(jnp.stack([first, first * 2, first - 1], axis=1), axis=1)
        return (second.sum() * (a - b / 3).T) @ jnp.tile(jnp.tril(c, 1), (1, 2))[:, ::2]
