"""JAX port of Positions (rules/test_creation.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def positions(p, x):
    """Positions (rules/test_creation.py:0): x (N, 4) -> (3, 1)."""
    h = F.linear(x, **p["fc"])
    return F.gather(h, 1, jnp.array([[2], [0], [1]], dtype=int)) * jnp.array([0.5], dtype=h.dtype)

# ---- the next port of this test ----
"""JAX port of Positions (rules/test_creation.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def positions(p, x):
    """Positions (rules/test_creation.py:0): x (N, 4) -> (3, 1)."""
    h = F.linear(x, **p["fc"])
    return F.gather(h, 1, jnp.array([[2], [0], [1]], dtype=int)) * jnp.array([0.5], dtype=h.dtype)
