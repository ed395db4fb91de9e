"""JAX port of Filtered (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- t % 2 == 0 (test_iteration_calls.py:0)
- t % 2 != 0 (test_iteration_calls.py:0)
- the loop runs 3 times (test_iteration_calls.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def filtered(p, x):
    """Filtered (calls/test_iteration_calls.py:0): x (N, 3, 3) -> (N, 3)."""
    assert len(range(x.shape[1])) == 3, (
        "this port holds for a loop that runs 3 times, as in the example"
    )
    parts = [F.linear(x[:, 0], **p["linear"]) * 0, F.linear(x[:, 2], **p["linear"]) * 2]
    return jnp.stack(parts).sum(axis=0)

# ---- the next port of this test ----
"""JAX port of Filtered (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- t % 2 == 0 (test_iteration_calls.py:0)
- t % 2 != 0 (test_iteration_calls.py:0)
- the loop runs 3 times (test_iteration_calls.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def filtered(p, x):
    """Filtered (calls/test_iteration_calls.py:0): x (N, 3, 3) -> (N, 3)."""
    assert len(range(x.shape[1])) == 3, (
        "this port holds for a loop that runs 3 times, as in the example"
    )
    parts = [F.linear(x[:, 0], **p["linear"]) * 0, F.linear(x[:, 2], **p["linear"]) * 2]
    return jnp.stack(parts).sum(axis=0)
