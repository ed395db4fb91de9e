"""JAX port of Reductions (port_collection/operators.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def reductions(p, x):
    """Reductions (port_collection/operators.py:0): x (N, 3) -> (N, 2)."""
    h = F.linear(x, **p["inner"])
    weights = jax.nn.softmax(h, axis=0) + jax.nn.log_softmax(h, axis=-1) * 0.1
    centred = h - h.mean(axis=0, keepdims=True) + h.sum(axis=1, keepdims=True)
    return F.linear(weights * jnp.cumsum(centred, axis=1) ** 3, **p["outer"])
