"""JAX port of Functional (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def functional(p, x):
    """Functional (calls/test_iteration_calls.py:0): x (N, 3) -> (N//2, 3)."""
    parts = jnp.array_split(x * x, 2, axis=0)
    a, b = scaled(p, parts[0]), scaled(p, parts[1])
    p_2 = a * b + a
    return p_2 * a + p_2


def scaled(p, x):
    """Functional.scaled (calls/test_iteration_calls.py:0): x (N//2, 3) -> (N//2, 3)."""
    return F.linear(x, **p["linear"]) * 2

# ---- the next port of this test ----
"""JAX port of Functional (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def functional(p, x):
    """Functional (calls/test_iteration_calls.py:0): x (N, 3) -> (N//2, 3)."""
    parts = jnp.array_split(x * x, 2, axis=0)
    a, b = scaled(p, parts[0]), scaled(p, parts[1])
    p_2 = a * b + a
    return p_2 * a + p_2


def scaled(p, x):
    """Functional.scaled (calls/test_iteration_calls.py:0): x (N//2, 3) -> (N//2, 3)."""
    return F.linear(x, **p["linear"]) * 2
