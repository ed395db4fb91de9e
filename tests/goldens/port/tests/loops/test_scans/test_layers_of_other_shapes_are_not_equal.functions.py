"""JAX port of Sizes (loops/test_scans.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def sizes(p, x):
    """Sizes (loops/test_scans.py:0): x (N, 4) -> ()."""
    total = 0
    for unit in p["units"]:
        total = total + unit_forward(unit, x).sum()
    return total


def unit_forward(p, x):
    """Unit (loops/test_scans.py:0): x (N, 4) -> (N, D')."""
    return jnp.tanh(F.linear(x, **p["fc"]))
