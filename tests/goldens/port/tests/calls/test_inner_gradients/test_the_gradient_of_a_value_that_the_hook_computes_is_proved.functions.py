"""JAX port of Equilibrium (calls/test_inner_gradients.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
import jaxgrad
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def equilibrium(p, x):
    """A hook that corrects the gradient with the derivative of the layer at a fixed point.

    Equilibrium (calls/test_inner_gradients.py:0): x (N, 3) -> (N, 3).
    """
    z = F.linear(x, **p["fc"])
    start = lax.stop_gradient(z)

    def on_grad(grad):
        value = jnp.tanh(F.linear(start, **p["fc"]))

        def value_2(start):
            value = jnp.tanh(F.linear(start, **p["fc"]))
            return value

        return grad + lax.stop_gradient(jax.vjp(value_2, start)[1](grad))[0]

    return jaxgrad.hook(z, on_grad)
