"""JAX port of Rows (nnx/test_port.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def rows(p, x):
    """Rows (nnx/test_port.py:0): x (N, 3) -> (N, 3)."""
    return last_row(p["last"], jnp.tanh(row(p["row"], x)))


def last_row(p, input_):
    """A list class of the user's, which goes over itself.

    Row (nnx/test_port.py:0): input_ (N, 3) -> (N, 3).
    """
    return F.linear(input_, **p[0])


def row(p, input_):
    """A list class of the user's, which goes over itself.

    Row (nnx/test_port.py:0): input_ (N, 3) -> (N, 3).
    """
    x = input_
    for part in p:
        x = F.linear(x, **part)
    return x

# ---- the next port of this test ----
"""JAX port of Rows (nnx/test_port.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def rows(p, x):
    """Rows (nnx/test_port.py:0): x (N, 3) -> (N, 3)."""
    return last_row(p["last"], jnp.tanh(row(p["row"], x)))


def last_row(p, input_):
    """A list class of the user's, which goes over itself.

    Row (nnx/test_port.py:0): input_ (N, 3) -> (N, 3).
    """
    return F.linear(input_, **p[0])


def row(p, input_):
    """A list class of the user's, which goes over itself.

    Row (nnx/test_port.py:0): input_ (N, 3) -> (N, 3).
    """
    x = input_
    for part in p:
        x = F.linear(x, **part)
    return x
