"""JAX port of StraightThrough (port_collection/behaviours.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def straight_through(p, x):
    """StraightThrough (port_collection/behaviours.py:0): x (N, 3) -> (N, 2)."""
    h = jax.nn.sigmoid(F.linear(x, **p["inner"]))
    return F.linear(h + lax.stop_gradient(F.round(h) - h), **p["outer"])
