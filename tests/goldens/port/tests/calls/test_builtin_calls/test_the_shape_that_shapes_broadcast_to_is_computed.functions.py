"""JAX port of Broadcast (calls/test_builtin_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def broadcast(p, x):
    """Broadcast (calls/test_builtin_calls.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["fc"])
    shape = jnp.broadcast_shapes(h.shape[:1], (1,))
    return jnp.broadcast_to(h.mean(axis=0), (shape[0], 4)) * h + 5

# ---- the next port of this test ----
"""JAX port of Broadcast (calls/test_builtin_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def broadcast(p, x):
    """Broadcast (calls/test_builtin_calls.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["fc"])
    shape = jnp.broadcast_shapes(h.shape[:1], (1,))
    return jnp.broadcast_to(h.mean(axis=0), (shape[0], 4)) * h + 5
