"""JAX port of Listed (values/test_params.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def listed(p, x):
    """A tuple of module lists, one of which has no tensors.

    Listed (values/test_params.py:0): x (N, 4) -> (N, 4).
    """
    parts = p["layers"], p["joins"]
    for layer, join in [(parts[0][0], parts[1][0]), (parts[0][1], parts[1][1])]:
        x = jnp.tanh(F.linear(x, **layer))
    return x
