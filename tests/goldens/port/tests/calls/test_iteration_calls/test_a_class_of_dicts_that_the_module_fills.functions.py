"""JAX port of Filled (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def filled(p, x):
    """Filled (calls/test_iteration_calls.py:0): x (N, 3) -> {hidden (N, 3), last (N, 3)}."""
    hidden = F.linear(x, **p["linear"])
    last = jnp.tanh(hidden)
    return {"hidden": hidden, "last": last}
