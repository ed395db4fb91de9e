"""JAX port of Listed (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def listed(p, x):
    """Listed (calls/test_iteration_calls.py:0): x (N, 3) -> (N, 3)."""
    for layer in [p["layer_0"], p["layer_1"]]:
        x = jnp.tanh(F.linear(x, **layer))
    return F.linear(x, **p["layer_2"])

# ---- the next port of this test ----
"""JAX port of Listed (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def listed(p, x):
    """Listed (calls/test_iteration_calls.py:0): x (N, 3) -> (N, 3)."""
    for layer in [p["layer_0"], p["layer_1"]]:
        x = jnp.tanh(F.linear(x, **layer))
    return F.linear(x, **p["layer_2"])
