"""JAX port of Chosen (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def chosen(p, x):
    """The rows that a tensor chooses are a copy, which Python puts back after `+=`.

    Chosen (calls/test_inplace.py:0): x (N, 4) -> (N, 4).
    """
    h, rows = F.linear(x, **p["first"]), jnp.array([0, 2])
    h = h.at[rows].set(h[rows] * 3)
    h = h.at[rows, rows].set(h[rows, rows] + 1)
    h = jnp.where(h > 0.5, h - 2, h)
    h = h.at[:, 1].set(h[:, 1] + 4)
    return F.linear(h, **p["second"])

# ---- the next port of this test ----
"""JAX port of Chosen (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def chosen(p, x):
    """The rows that a tensor chooses are a copy, which Python puts back after `+=`.

    Chosen (calls/test_inplace.py:0): x (N, 4) -> (N, 4).
    """
    h, rows = F.linear(x, **p["first"]), jnp.array([0, 2])
    h = h.at[rows].set(h[rows] * 3)
    h = h.at[rows, rows].set(h[rows, rows] + 1)
    h = jnp.where(h > 0.5, h - 2, h)
    h = h.at[:, 1].set(h[:, 1] + 4)
    return F.linear(h, **p["second"])

# ---- the next port of this test ----
"""JAX port of Chosen (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def chosen(p, x):
    """The rows that a tensor chooses are a copy, which Python puts back after `+=`.

    Chosen (calls/test_inplace.py:0): x (N, 4) -> (N, 4).
    """
    h, rows = F.linear(x, **p["first"]), jnp.array([0, 2])
    h = h.at[rows].set(h[rows] * 3)
    h = h.at[rows, rows].set(h[rows, rows] + 1)
    h = jnp.where(h > 0.5, h - 2, h)
    h = h.at[:, 1].set(h[:, 1] + 4)
    return F.linear(h, **p["second"])
