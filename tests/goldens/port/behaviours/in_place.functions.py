"""JAX port of InPlace (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def in_place(p, x):
    """InPlace (port_collection/behaviours.py:0): x (N, 3) -> (N, 2)."""
    h = F.linear(x, **p["inner"])
    h = h * jax.nn.sigmoid(h)
    return F.linear(h, **p["outer"])
