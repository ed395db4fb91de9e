"""JAX port of OnesOfARank (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def ones_of_a_rank(p, x):
    """OnesOfARank (values/test_lengths.py:0): x (N, L, 4) -> (N, L, 4)."""
    scale = jnp.arange(x.shape[0], dtype=x.dtype)
    return F.linear(x, **p["linear"]) * scale.reshape(-1, *[1] * (x.ndim - 1))
