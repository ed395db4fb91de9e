"""JAX port of Written (finish/test_repeats.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def written(p, x):
    """Written (finish/test_repeats.py:0): x (N, 4, L) -> (N, 4, L)."""
    x = jnp.tanh(F.conv1d(x, **p["layers"][0]))
    x = jnp.tanh(F.conv1d(x, **p["layers"][2]))
    x = jnp.tanh(F.conv1d(x, **p["layers"][4]))
    x = jnp.tanh(F.conv1d(x, **p["layers"][1], padding=1))
    x = jnp.tanh(F.conv1d(x, **p["layers"][3], padding=1))
    return jnp.tanh(F.conv1d(x, **p["layers"][5], padding=1))
