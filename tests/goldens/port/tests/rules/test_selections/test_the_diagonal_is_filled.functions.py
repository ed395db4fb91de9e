"""JAX port of Distances (rules/test_selections.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def distances(p, x):
    """Distances (rules/test_selections.py:0): x (N, 4) -> (N, N)."""
    h = F.linear(x, **p["fc"])
    return jnp.fill_diagonal(h @ h.T, 0, inplace=False)
