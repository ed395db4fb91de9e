"""JAX port of PartsOfGivenSizes (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def parts_of_given_sizes(p, x):
    """PartsOfGivenSizes (values/test_lengths.py:0): x (N, L, 4) -> (N, 4)."""
    half = x.shape[1] // 2
    a, b = jnp.split(x, [half], axis=1)
    return F.linear(a, **p["linear"]).sum(axis=1) + b.mean(axis=1)
