"""JAX port of Plain (functions/test_context_managers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import jaxgrad
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def plain(p, x):
    """Plain (functions/test_context_managers.py:0): x (N, 4) -> (N, 4)."""
    return nested(F.linear(x, **p["layer"]))


def nested(h):
    """_nested (functions/test_context_managers.py:0): h (N, 4) -> (N, 4)."""

    def autocast_region():
        return lax.stop_gradient(h.mean(axis=-1, keepdims=True))

    mean = jaxgrad.autocast(autocast_region, jnp.bfloat16)()
    return h * mean
