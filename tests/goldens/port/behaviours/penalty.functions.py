"""JAX port of Penalty (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def penalty(p, x):
    """Penalty (port_collection/behaviours.py:0): x (N, 3) -> ()."""
    x = lax.stop_gradient(x)
    out = F.linear(jnp.tanh(F.linear(x, **p["inner"])), **p["outer"])
    grad = jax.grad(lambda x: F.linear(jnp.tanh(F.linear(x, **p["inner"])), **p["outer"]).sum())(x)
    return out.sum() + jnp.square(F.norm(grad, dim=-1) - 1).mean()
