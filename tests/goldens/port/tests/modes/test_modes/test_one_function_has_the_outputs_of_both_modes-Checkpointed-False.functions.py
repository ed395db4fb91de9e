"""JAX port of Checkpointed (modes/test_modes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from functools import partial

import jax
from jaxgrad import functional

F = functional.at("2.13")


def checkpointed(p, x, *, training=False):
    """Checkpointed (modes/test_modes.py:0): x (N, 3) -> (N, 3)."""
    for layer in p["layers"]:
        x = doubled(layer, x, training=training)
    return x


def doubled(p, x, *, training):
    """Doubled (modes/test_modes.py:0): x (N, 3) -> (N, 3)."""
    return jax.checkpoint(partial(inner, training=training))(p, x) + x


def inner(p, x, *, training):
    """Doubled.inner (modes/test_modes.py:0): x (N, 3) -> (N, 3)."""
    y = F.linear(x, **p["fc"])
    if training:
        return y * 2
    return y
