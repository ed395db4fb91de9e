"""JAX port of Returned (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- number == 0 (test_calls.py:0)
- number != 0 (test_calls.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def returned(p, x):
    """A method returns a module, which forward calls.

    Returned (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    x = jnp.tanh(F.linear(x, **p["first"]))
    return jnp.tanh(F.linear(x, **p["second"]))

# ---- the next port of this test ----
"""JAX port of Returned (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- number == 0 (test_calls.py:0)
- number != 0 (test_calls.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def returned(p, x):
    """A method returns a module, which forward calls.

    Returned (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    x = jnp.tanh(F.linear(x, **p["first"]))
    return jnp.tanh(F.linear(x, **p["second"]))

# ---- the next port of this test ----
"""JAX port of Returned (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- number == 0 (test_calls.py:0)
- number != 0 (test_calls.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def returned(p, x):
    """A method returns a module, which forward calls.

    Returned (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    x = jnp.tanh(F.linear(x, **p["first"]))
    return jnp.tanh(F.linear(x, **p["second"]))

# ---- the next port of this test ----
"""JAX port of Returned (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- number == 0 (test_calls.py:0)
- number != 0 (test_calls.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def returned(p, x):
    """A method returns a module, which forward calls.

    Returned (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    x = jnp.tanh(F.linear(x, **p["first"]))
    return jnp.tanh(F.linear(x, **p["second"]))
