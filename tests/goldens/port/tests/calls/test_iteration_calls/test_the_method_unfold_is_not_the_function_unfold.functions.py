"""JAX port of Windows (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def windows_forward(p, x):
    """Windows (calls/test_iteration_calls.py:0): x (N, 3) -> (N - 1, 3, 2)."""
    h = F.linear(x, **p["linear"])
    windows = jnp.arange(0, h.shape[0] - 2 + 1, 1)[:, None] + jnp.arange(2)
    h = jnp.moveaxis(jnp.take(h, windows, axis=0), 1, -1)
    windows = jnp.arange(0, h.shape[2] - 1 + 1, 1)[:, None] + jnp.arange(1)
    return jnp.take(h, windows, axis=2)[..., 0] * 2

# ---- the next port of this test ----
"""JAX port of Windows (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def windows_forward(p, x):
    """Windows (calls/test_iteration_calls.py:0): x (N, 3) -> (N - 1, 3, 2)."""
    h = F.linear(x, **p["linear"])
    windows = jnp.arange(0, h.shape[0] - 2 + 1, 1)[:, None] + jnp.arange(2)
    h = jnp.moveaxis(jnp.take(h, windows, axis=0), 1, -1)
    windows = jnp.arange(0, h.shape[2] - 1 + 1, 1)[:, None] + jnp.arange(1)
    return jnp.take(h, windows, axis=2)[..., 0] * 2
