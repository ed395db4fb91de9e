"""JAX port of SumOfAList (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def sum_of_a_list(p, x):
    """SumOfAList (values/test_lengths.py:0): x (N, L, 4) -> (N, 4)."""
    return F.linear(sum(list(jnp.unstack(x, axis=1))), **p["linear"])
