"""JAX port of Yields (functions/test_generators.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def yields(p, x):
    """Yields (functions/test_generators.py:0): x (N, 4) -> (N, 4)."""
    return sum(pieces(p, x))


def pieces(p, x):
    """Yields.pieces (functions/test_generators.py:0).

    x (N, 4) -> (N, 4), (N, 4), (N, 4), (N, 4).
    """
    items = []
    for n in range(2):
        items.append(F.linear(x, **p["linear"]) * (n + 1))
    items.extend((x, jnp.tanh(F.linear(x, **p["linear"]))))
    return items

# ---- the next port of this test ----
"""JAX port of Yields (functions/test_generators.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def yields(p, x):
    """Yields (functions/test_generators.py:0): x (N, 4) -> (N, 4)."""
    return sum(pieces(p, x))


def pieces(p, x):
    """Yields.pieces (functions/test_generators.py:0).

    x (N, 4) -> (N, 4), (N, 4), (N, 4), (N, 4).
    """
    items = []
    for n in range(2):
        items.append(F.linear(x, **p["linear"]) * (n + 1))
    items.extend((x, jnp.tanh(F.linear(x, **p["linear"]))))
    return items
