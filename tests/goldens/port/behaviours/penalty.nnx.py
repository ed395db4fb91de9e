"""JAX port of Penalty (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Penalty(nnx.Module):
    """Penalty (port_collection/behaviours.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        x = lax.stop_gradient(x)
        out = self.outer(jnp.tanh(self.inner(x)))

        def value(x):
            out = self.outer(jnp.tanh(self.inner(x)))
            return out.sum()

        (grad,) = jax.grad(value, (0,))(x)
        return out.sum() + jnp.square(F.norm(grad, dim=-1) - 1).mean()
