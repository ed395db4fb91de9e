"""JAX port of Each (rules/test_table.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def each(p, x):
    """Calls operators as functions, as methods and in place.

    Each (rules/test_table.py:0): x (N, L, 4) -> (N,).
    """
    h = jax.nn.relu(F.linear(jnp.roll(x, 1, axis=-1), **p["linear"]))
    gelu = F.gelu(h.swapaxes(1, 2))
    return gelu.reshape(gelu.shape[0], -1).sum(axis=-1)
