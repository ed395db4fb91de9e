"""JAX port of Slices (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def slices(p, x):
    """Assigns to slices and items of lists.

    Slices (interpretation/test_calls.py:0): x (N, 4) -> (3, N, 4).
    """
    item = F.linear(x, **p["first"])
    item_2 = lax.stop_gradient(F.linear(x, **p["second"]))
    item_4 = item * item_2
    named = {"first": x, "rest": jnp.cos(jnp.stack([item, item_2, item_4]))}
    return named["rest"]

# ---- the next port of this test ----
"""JAX port of Slices (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def slices(p, x):
    """Assigns to slices and items of lists.

    Slices (interpretation/test_calls.py:0): x (N, 4) -> (3, N, 4).
    """
    item = F.linear(x, **p["first"])
    item_2 = lax.stop_gradient(F.linear(x, **p["second"]))
    item_4 = item * item_2
    named = {"first": x, "rest": jnp.cos(jnp.stack([item, item_2, item_4]))}
    return named["rest"]

# ---- the next port of this test ----
"""JAX port of Slices (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def slices(p, x):
    """Assigns to slices and items of lists.

    Slices (interpretation/test_calls.py:0): x (N, 4) -> (3, N, 4).
    """
    item = F.linear(x, **p["first"])
    item_2 = lax.stop_gradient(F.linear(x, **p["second"]))
    item_4 = item * item_2
    named = {"first": x, "rest": jnp.cos(jnp.stack([item, item_2, item_4]))}
    return named["rest"]

# ---- the next port of this test ----
"""JAX port of Slices (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def slices(p, x):
    """Assigns to slices and items of lists.

    Slices (interpretation/test_calls.py:0): x (N, 4) -> (3, N, 4).
    """
    item = F.linear(x, **p["first"])
    item_2 = lax.stop_gradient(F.linear(x, **p["second"]))
    item_4 = item * item_2
    named = {"first": x, "rest": jnp.cos(jnp.stack([item, item_2, item_4]))}
    return named["rest"]
