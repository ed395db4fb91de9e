"""JAX port of WithLast (loops/test_scans.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def with_last(p, x):
    """WithLast (loops/test_scans.py:0): x (N, 4) -> (N, 4)."""
    for unit in p["units"]:
        y = unit_forward(unit, x)
        x = x + y
    return x * y


def unit_forward(p, x):
    """Unit (loops/test_scans.py:0): x (N, 4) -> (N, 4)."""
    return jnp.tanh(F.linear(x, **p["fc"]))
