"""JAX port of Doubled (interpretation/test_module_calls.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def doubled(p, x):
    """Doubled.__call__ (interpretation/test_module_calls.py:0): x (N, 4) -> (N, 3)."""
    return jnp.sin(F.linear(x, **p)) * 2

# ---- the next port of this test ----
"""JAX port of Doubled (interpretation/test_module_calls.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def doubled(p, x):
    """Doubled.__call__ (interpretation/test_module_calls.py:0): x (N, 4) -> (N, 3)."""
    return jnp.sin(F.linear(x, **p)) * 2
