"""JAX port of Pulled (port_collection/operators.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Pulled(nnx.Module):
    """Pulled (port_collection/operators.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x, cotangent):
        x = lax.stop_gradient(x)
        h = jnp.tanh(self.inner(x))

        def value(x):
            h = jnp.tanh(self.inner(x))
            return h

        (grad,) = jax.vjp(value, x)[1](cotangent)
        return self.outer(h).sum() + jnp.square(grad).sum()
