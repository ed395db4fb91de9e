"""JAX port of Flagged (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def flagged(p, x):
    """Returns bools beside its values.

    Flagged (interpretation/test_calls.py:0): x (N, 4) -> y (N, 4), (N, 4) bool, () bool.
    """
    y = F.linear(jnp.tanh(F.linear(x, **p["first"])), **p["second"])
    return y, y > 0, F.any(y > 5)

# ---- the next port of this test ----
"""JAX port of Flagged (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def flagged(p, x):
    """Returns bools beside its values.

    Flagged (interpretation/test_calls.py:0): x (N, 4) -> y (N, 4), (N, 4) bool, () bool.
    """
    y = F.linear(jnp.tanh(F.linear(x, **p["first"])), **p["second"])
    return y, y > 0, F.any(y > 5)
