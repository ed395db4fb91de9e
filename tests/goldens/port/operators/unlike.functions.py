"""JAX port of Unlike (port_collection/operators.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def unlike(p, x):
    """A loop whose turns differ, and whose order matters.

    Unlike (port_collection/operators.py:0): x (N, 3) -> (N, 3).
    """
    x = F.linear(x, **p["parts"][0]) * (0 + 1)
    x = jnp.tanh(x) * (1 + 1)
    return F.linear(x, **p["parts"][2]) * (2 + 1)
