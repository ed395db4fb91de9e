"""JAX port of Described (interpretation/test_statements.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp


def described(p, x):
    """Described (interpretation/test_statements.py:0): x (N, L) -> (N, L)."""
    # it is squared
    x = x * x
    # without a scale
    return jnp.tanh(x)
