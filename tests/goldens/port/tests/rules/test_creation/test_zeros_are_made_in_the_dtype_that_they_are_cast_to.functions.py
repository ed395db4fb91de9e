"""JAX port of Summed (rules/test_creation.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def summed(p, x):
    """Rows are added to zeros in their dtype, and ones have a dtype before the cast.

    Summed (rules/test_creation.py:0): x (3, 4) -> (2, 4).
    """
    h = F.linear(x, **p["fc"])
    rows = F.index_add(jnp.zeros((2, 4), dtype=h.dtype), 0, jnp.array([0, 1, 0]), h)
    return rows * jnp.ones((4,), dtype=jnp.int32).astype(h.dtype)

# ---- the next port of this test ----
"""JAX port of Summed (rules/test_creation.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def summed(p, x):
    """Rows are added to zeros in their dtype, and ones have a dtype before the cast.

    Summed (rules/test_creation.py:0): x (3, 4) -> (2, 4).
    """
    h = F.linear(x, **p["fc"])
    rows = F.index_add(jnp.zeros((2, 4), dtype=h.dtype), 0, jnp.array([0, 1, 0]), h)
    return rows * jnp.ones((4,), dtype=jnp.int32).astype(h.dtype)
