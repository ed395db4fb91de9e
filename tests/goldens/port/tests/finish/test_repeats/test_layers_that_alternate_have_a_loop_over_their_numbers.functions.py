"""JAX port of Alternating (finish/test_repeats.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def alternating(p, x):
    """Two kinds of layers, one after the other.

    Alternating (finish/test_repeats.py:0): x (N, 4, L) -> (N, 4, L).
    """
    for i, padding in enumerate((0, 1, 0, 1, 0, 1)):
        x = x + F.conv1d(x, **p["layers"][i], padding=padding)
        x = jnp.tanh(x)
    return x

# ---- the next port of this test ----
"""JAX port of Alternating (finish/test_repeats.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def alternating(p, x):
    """Two kinds of layers, one after the other.

    Alternating (finish/test_repeats.py:0): x (N, 4, L) -> (N, 4, L).
    """
    for i, padding in enumerate((0, 1, 0, 1, 0, 1)):
        x = x + F.conv1d(x, **p["layers"][i], padding=padding)
        x = jnp.tanh(x)
    return x
