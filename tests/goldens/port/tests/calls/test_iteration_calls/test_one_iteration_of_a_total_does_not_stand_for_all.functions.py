"""JAX port of Total (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- the loop runs 1 times (test_iteration_calls.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def total(p, x):
    """Total (calls/test_iteration_calls.py:0): x (N, 1, 3) -> (N, 3)."""
    assert len(range(x.shape[1])) == 1, (
        "this port holds for a loop that runs once, as in the example"
    )
    return 0.0 + jnp.tanh(F.linear(x[:, 0], **p["linear"]))
