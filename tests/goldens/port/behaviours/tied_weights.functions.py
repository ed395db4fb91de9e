"""JAX port of TiedWeights (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def tied_weights(p, x):
    """TiedWeights (port_collection/behaviours.py:0): x (N, 3) -> (N, 3)."""
    y = jnp.tanh(F.linear(x, **p["encode"]))
    return F.linear(y * F.linear(x, p["encode"]["weight"]), **p["decode"])  # tied
