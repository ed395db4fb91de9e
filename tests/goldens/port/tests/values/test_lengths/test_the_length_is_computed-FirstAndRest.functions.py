"""JAX port of FirstAndRest (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def first_and_rest(p, x):
    """FirstAndRest (values/test_lengths.py:0): x (N, L, 4) -> (N, 1, 4)."""
    first, *rest = jnp.split(x, list(range(1, x.shape[1], 1)), axis=1)
    y = jnp.concatenate(rest, axis=1).sum(axis=1, keepdims=True)
    return F.linear(first, **p["linear"]) * len(rest) + y
