"""JAX port of Twice (expressions/test_submodules.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def twice(p, x):
    """Twice (expressions/test_submodules.py:0): x (N, 4) -> (N, 4)."""
    return run(p["second"], run(p["first"], x))


def run(p, x):
    """One activation has two names.

    Run (expressions/test_submodules.py:0): x (N, 4) -> (N, 4).
    """
    x = F.linear(x, **p[0])
    x = jnp.tanh(x)
    x = F.linear(x, **p[2])
    return jnp.tanh(x)
