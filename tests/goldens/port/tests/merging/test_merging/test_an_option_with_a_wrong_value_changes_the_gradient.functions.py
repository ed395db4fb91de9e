"""JAX port of Stack (merging/test_merging.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def stack(p, x):
    """Stack (merging/test_merging.py:0): x (N, 2, L) -> (N, 2, L + 2)."""
    return unit(p["third"], unit(p["second"], unit(p["first"], x), padding=1))


def unit(p, x, *, padding=0):
    """Unit (merging/test_merging.py:0): x (N, 2, L) -> (N, 2, L')."""
    x = F.conv1d(x, **p[0], padding=padding)
    return jnp.tanh(x)

# ---- the next port of this test ----
"""JAX port of Stack (merging/test_merging.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def stack(p, x):
    """Stack (merging/test_merging.py:0): x (N, 2, L) -> (N, 2, L + 2)."""
    return unit(p["third"], unit(p["second"], unit(p["first"], x), padding=1))


def unit(p, x, *, padding=0):
    """Unit (merging/test_merging.py:0): x (N, 2, L) -> (N, 2, L')."""
    x = F.conv1d(x, **p[0], padding=padding)
    return jnp.tanh(x)
