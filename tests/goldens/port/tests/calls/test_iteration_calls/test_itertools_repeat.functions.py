"""JAX port of Repeated (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- x.ndim == 2 (test_iteration_calls.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def repeated(p, x):
    """Repeated (calls/test_iteration_calls.py:0): x (N, 3) -> (N, 3)."""
    assert x.ndim == 2, "this port holds for x.ndim == 2, as in the example"
    ones = [x.shape[0], 1]
    scaled = [x * 3.0, jnp.tanh(x) * 3.0]
    return F.linear(scaled[0] + scaled[1], **p["linear"]) * jnp.ones(ones, dtype=x.dtype)
