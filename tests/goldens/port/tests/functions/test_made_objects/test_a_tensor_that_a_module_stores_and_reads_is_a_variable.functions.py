"""JAX port of Kept (functions/test_made_objects.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def kept(p, x):
    """Kept (functions/test_made_objects.py:0): x (N, 4) -> (N, 4)."""
    return reads(F.linear(x, **p["fc"]))


def reads(h):
    """_reads (functions/test_made_objects.py:0): h (N, 4) -> (N, 4)."""
    last = jnp.tanh(h)
    h = h * 2
    return last * h

# ---- the next port of this test ----
"""JAX port of Kept (functions/test_made_objects.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def kept(p, x):
    """Kept (functions/test_made_objects.py:0): x (N, 4) -> (N, 4)."""
    return reads(F.linear(x, **p["fc"]))


def reads(h):
    """_reads (functions/test_made_objects.py:0): h (N, 4) -> (N, 4)."""
    last = jnp.tanh(h)
    h = h * 2
    return last * h

# ---- the next port of this test ----
"""JAX port of Kept (functions/test_made_objects.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def kept(p, x):
    """Kept (functions/test_made_objects.py:0): x (N, 4) -> (N, 4)."""
    return reads(F.linear(x, **p["fc"]))


def reads(h):
    """_reads (functions/test_made_objects.py:0): h (N, 4) -> (N, 4)."""
    last = jnp.tanh(h)
    h = h * 2
    return last * h
