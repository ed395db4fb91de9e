"""JAX port of Packaged (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def packaged(p, x):
    """Unequal parts, `next`, a nested function with `**`, and an object that is called.

    Packaged (calls/test_iteration_calls.py:0): x (N, L, 3) -> (N, 3).
    """
    dtype = p["linear"]["weight"].dtype
    batch, length = x.shape[0], x.shape[1]
    first = jnp.array_split(x, 2, axis=1)[0]
    last = jnp.split(x, list(range(2, x.shape[1], 2)), axis=1)[-1]
    zeros = jnp.zeros((batch, 1), dtype=dtype)
    out = scaled(F.linear(first, **p["linear"])).sum(axis=1) * 3.0 + last.sum(axis=1) * length
    return out + zeros


def scaled(x, *, factor=2.0):
    """Scaled.__call__ (calls/test_iteration_calls.py:0): x (N, L, 3) -> (N, L, 3)."""
    return x * factor

# ---- the next port of this test ----
"""JAX port of Packaged (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def packaged(p, x):
    """Unequal parts, `next`, a nested function with `**`, and an object that is called.

    Packaged (calls/test_iteration_calls.py:0): x (N, L, 3) -> (N, 3).
    """
    dtype = p["linear"]["weight"].dtype
    batch, length = x.shape[0], x.shape[1]
    first = jnp.array_split(x, 2, axis=1)[0]
    last = jnp.split(x, list(range(2, x.shape[1], 2)), axis=1)[-1]
    zeros = jnp.zeros((batch, 1), dtype=dtype)
    out = scaled(F.linear(first, **p["linear"])).sum(axis=1) * 3.0 + last.sum(axis=1) * length
    return out + zeros


def scaled(x, *, factor=2.0):
    """Scaled.__call__ (calls/test_iteration_calls.py:0): x (N, L, 3) -> (N, L, 3)."""
    return x * factor

# ---- the next port of this test ----
"""JAX port of Packaged (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def packaged(p, x):
    """Unequal parts, `next`, a nested function with `**`, and an object that is called.

    Packaged (calls/test_iteration_calls.py:0): x (N, L, 3) -> (N, 3).
    """
    dtype = p["linear"]["weight"].dtype
    batch, length = x.shape[0], x.shape[1]
    first = jnp.array_split(x, 2, axis=1)[0]
    last = jnp.split(x, list(range(2, x.shape[1], 2)), axis=1)[-1]
    zeros = jnp.zeros((batch, 1), dtype=dtype)
    out = scaled(F.linear(first, **p["linear"])).sum(axis=1) * 3.0 + last.sum(axis=1) * length
    return out + zeros


def scaled(x, *, factor=2.0):
    """Scaled.__call__ (calls/test_iteration_calls.py:0): x (N, L, 3) -> (N, L, 3)."""
    return x * factor
