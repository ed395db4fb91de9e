"""JAX port of Branch (port_collection/operators.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- A parameter that only the branch not taken uses has the gradient None in torch. With lax.cond it
  has zeros, and an optimizer then updates its moments and decays it.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def branch(p, x):
    """Branch (port_collection/operators.py:0): x (N, 3) -> (N, 2)."""
    h = F.linear(x, **p["inner"])
    h = lax.cond(h.sum() > 0, lambda h: jnp.tanh(h), lambda h: h * 3, h)
    return F.linear(h, **p["outer"])
