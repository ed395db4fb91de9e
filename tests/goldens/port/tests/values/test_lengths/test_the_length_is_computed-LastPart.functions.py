"""JAX port of LastPart (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def last_part(p, x):
    """LastPart (values/test_lengths.py:0): x (N, L, 4) -> (N, 1, 4)."""
    *_, last = jnp.split(x, list(range(2, x.shape[1], 2)), axis=1)
    return F.linear(last, **p["linear"])
