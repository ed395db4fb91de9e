"""JAX port of Total (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def total_forward(p, x):
    """Total (calls/test_iteration_calls.py:0): x (N, L, 3) -> (N, 3).

    JAX unrolls `for t in range(x.shape[1])`, so compile time grows with the number of
    iterations; use lax.scan for long inputs.
    """
    total = 0.0
    for t in range(x.shape[1]):
        total = total + jnp.tanh(F.linear(x[:, t], **p["linear"]))
    return total
