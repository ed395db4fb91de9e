"""JAX port of OverTime (loops/test_loop_statements.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Conv1d, Linear


class OverTime(nnx.Module):
    """A recurrence behind a convolution with a stride, with a loss that refuses other lengths.

    OverTime (loops/test_loop_statements.py:0).

    JAX unrolls `for t in range(x.shape[1])` and `for row in jnp.unstack(x, axis=1)`, so compile
    time grows with the number of iterations; use lax.scan for long inputs.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.front = Conv1d(3, 4, 3, stride=2, padding=1, rngs=rngs)
        self.layers = nnx.List([Linear(4, 4, rngs=rngs) for _ in range(2)])

    def __call__(self, x, y):
        x = self.front(x.swapaxes(1, 2)).swapaxes(1, 2)
        h = jnp.zeros((x.shape[0], 4), dtype=x.dtype)
        for t in range(x.shape[1]):
            h = jnp.tanh(h + x[:, t])
        for layer in self.layers:
            h = layer(h)
        for power in jnp.linspace(1.0, 2.0, 3):
            h = h * power
        for part in jnp.split(h, list(range(2, h.shape[1], 2)), axis=1):
            h = h + part.sum()
        h = h + jnp.stack([jnp.square(row) for row in jnp.unstack(x, axis=1)]).sum()
        return jnp.square(h - y[:, :4]).mean()
