"""JAX port of Cached (functions/test_made_objects.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def cached(p, x):
    """Cached (functions/test_made_objects.py:0): x (N, 4) -> (N, 4)."""
    keys = F.linear(x, **p["blocks"][0]["fc"])
    keys_3 = keys
    h = keys_3
    x = jnp.tanh(h)
    keys = F.linear(x, **p["blocks"][1]["fc"])
    h = keys
    x = jnp.tanh(h)
    return x + keys_3.sum()
