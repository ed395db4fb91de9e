"""JAX port of Positions (expressions/test_operators.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def positions(p, x):
    """Positions (expressions/test_operators.py:0): x (N, L, 4) -> (N, L, 4)."""
    at = jnp.arange(x.shape[1])
    return x * (F.embedding(at, **p["embed"]) + 0)

# ---- the next port of this test ----
"""JAX port of Positions (expressions/test_operators.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def positions(p, x):
    """Positions (expressions/test_operators.py:0): x (N, L, 4) -> (N, L, 4)."""
    at = jnp.arange(x.shape[1])
    return x * (F.embedding(at, **p["embed"]) + 0)
