"""JAX port of Pulled (port_collection/operators.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def pulled(p, x, cotangent):
    """Pulled (port_collection/operators.py:0): x (N, 3), cotangent (N, 4) -> ()."""
    x = lax.stop_gradient(x)
    h = jnp.tanh(F.linear(x, **p["inner"]))
    (grad,) = jax.vjp(lambda x: jnp.tanh(F.linear(x, **p["inner"])), x)[1](cotangent)
    return F.linear(h, **p["outer"]).sum() + jnp.square(grad).sum()
