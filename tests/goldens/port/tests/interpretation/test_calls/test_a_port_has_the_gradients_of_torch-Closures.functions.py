"""JAX port of Closures (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def closures(p, x):
    """A module that keeps nested functions in a tuple and in a dict.

    Closures (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    scale = lax.stop_gradient(F.linear(x, **p["second"]))
    x = 2 * x * scale
    x = F.linear(x, **p["first"]) + x
    x = jnp.tanh(x)
    return 2 * x * scale

# ---- the next port of this test ----
"""JAX port of Closures (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def closures(p, x):
    """A module that keeps nested functions in a tuple and in a dict.

    Closures (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    scale = lax.stop_gradient(F.linear(x, **p["second"]))
    x = 2 * x * scale
    x = F.linear(x, **p["first"]) + x
    x = jnp.tanh(x)
    return 2 * x * scale

# ---- the next port of this test ----
"""JAX port of Closures (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def closures(p, x):
    """A module that keeps nested functions in a tuple and in a dict.

    Closures (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    scale = lax.stop_gradient(F.linear(x, **p["second"]))
    x = 2 * x * scale
    x = F.linear(x, **p["first"]) + x
    x = jnp.tanh(x)
    return 2 * x * scale

# ---- the next port of this test ----
"""JAX port of Closures (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def closures(p, x):
    """A module that keeps nested functions in a tuple and in a dict.

    Closures (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    scale = lax.stop_gradient(F.linear(x, **p["second"]))
    x = 2 * x * scale
    x = F.linear(x, **p["first"]) + x
    x = jnp.tanh(x)
    return 2 * x * scale
