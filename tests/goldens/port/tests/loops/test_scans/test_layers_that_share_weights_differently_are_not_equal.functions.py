"""JAX port of Tower (loops/test_scans.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def tower(p, x):
    """Tower (loops/test_scans.py:0): x (N, 4) -> (N, 4)."""
    p = jax.tree.map(lambda x: x, p)
    p["units"][1]["b"]["weight"] = p["units"][1]["a"]["weight"]  # tied
    # one unit after the other
    for unit in p["units"]:
        x = x + pair(unit, x)
    return x


def pair(p, x):
    """Pair (loops/test_scans.py:0): x (N, 4) -> (N, 4)."""
    return jnp.tanh(F.linear(F.linear(x, **p["a"]), **p["b"]))
