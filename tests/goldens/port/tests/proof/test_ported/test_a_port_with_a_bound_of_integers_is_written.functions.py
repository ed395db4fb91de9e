"""JAX port of Counted (proof/test_ported.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def counted(p, x, count):
    """It scales rows by an integer with a bound, such as a degree.

    Counted (proof/test_ported.py:0): x (N, 3), count (N,) int -> (N, 2).
    """
    return F.linear(x, **p) * jnp.clip(count, max=1)[:, None]
