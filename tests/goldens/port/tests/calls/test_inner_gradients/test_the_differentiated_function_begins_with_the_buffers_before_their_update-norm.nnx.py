"""JAX port of Penalized (calls/test_inner_gradients.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import BatchNorm1d, Linear


class Penalized(nnx.Module):
    """The gradient of a network that is called for its output too, and changes its buffers.

    Penalized (calls/test_inner_gradients.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.network = nnx.Sequential(Linear(3, 3, rngs=rngs), BatchNorm1d(3))

    def __call__(self, x):
        y = self.network(x)
        mixed = lax.stop_gradient(0.5 * x)

        def value(mixed):
            total = jnp.tanh(self.network(mixed)).sum()
            return total

        (grad,) = jax.grad(value, (0,))(mixed)
        return y + grad
