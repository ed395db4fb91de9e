"""JAX port of Settings (statements/test_stores.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def settings(p, x):
    """Settings (statements/test_stores.py:0): x (N, 4) -> (N, 4)."""
    return rolls(F.linear(x, **p["layer"]))


def rolls(input_):
    """_rolls (statements/test_stores.py:0): input_ (N, 4) -> (N, 4)."""
    x = jnp.roll(input_, (1, 1), axis=(0, 1))
    return x * input_

# ---- the next port of this test ----
"""JAX port of Settings (statements/test_stores.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def settings(p, x):
    """Settings (statements/test_stores.py:0): x (N, 4) -> (N, 4)."""
    return rolls(F.linear(x, **p["layer"]))


def rolls(input_):
    """_rolls (statements/test_stores.py:0): input_ (N, 4) -> (N, 4)."""
    x = jnp.roll(input_, (1, 1), axis=(0, 1))
    return x * input_
