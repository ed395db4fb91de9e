"""JAX port of Settings (statements/test_stores.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def settings(p, x):
    """Settings (statements/test_stores.py:0): x (N, 4) -> (N, 4)."""
    return replaces(F.linear(x, **p["layer"]))


def replaces(h):
    """_replaces (statements/test_stores.py:0): h (N, 4) -> (N, 4)."""
    pair = pair_forward(h)
    first = pair["first"] * pair["second"]
    return first + pair["second"]


def pair_forward(h):
    """_pair (statements/test_stores.py:0): h (N, 4) -> {first (N, 4), second (N, 4)}."""
    twice = h * 2
    return {"first": jnp.tanh(twice), "second": twice}

# ---- the next port of this test ----
"""JAX port of Settings (statements/test_stores.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def settings(p, x):
    """Settings (statements/test_stores.py:0): x (N, 4) -> (N, 4)."""
    return replaces(F.linear(x, **p["layer"]))


def replaces(h):
    """_replaces (statements/test_stores.py:0): h (N, 4) -> (N, 4)."""
    pair = pair_forward(h)
    first = pair["first"] * pair["second"]
    return first + pair["second"]


def pair_forward(h):
    """_pair (statements/test_stores.py:0): h (N, 4) -> {first (N, 4), second (N, 4)}."""
    twice = h * 2
    return {"first": jnp.tanh(twice), "second": twice}
