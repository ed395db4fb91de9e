"""JAX port of Equilibrium (calls/test_inner_gradients.py), written by jaxgrad.port for torch 2.13.
"""

import jax
import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Equilibrium(nnx.Module):
    """A hook that corrects the gradient with the derivative of the layer at a fixed point.

    Equilibrium (calls/test_inner_gradients.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        z = self.fc(x)
        start = lax.stop_gradient(z)

        def on_grad(grad):
            value = jnp.tanh(self.fc(start))

            def value_2(start):
                value = jnp.tanh(self.fc(start))
                return value

            return grad + lax.stop_gradient(jax.vjp(value_2, start)[1](grad))[0]

        return jaxgrad.hook(z, on_grad)
