"""JAX port of Tower (loops/test_scans.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def tower(p, x):
    """Tower (loops/test_scans.py:0): x (N, 4) -> (N, 4)."""
    # one unit after the other
    x = x + unit(p["units"][0], x)
    x = x + unit(p["units"][1], x)
    return x + jnp.tanh(x)


def unit(p, x):
    """Unit (loops/test_scans.py:0): x (N, 4) -> (N, 4)."""
    return jnp.tanh(F.linear(x, **p["fc"]))
