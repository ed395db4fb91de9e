"""JAX port of Flattens (functions/test_borrowed.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def flattens(p, x):
    """A function without a result fills two lists, as `kornia` makes its constants.

    Flattens (functions/test_borrowed.py:0): x (N, 4) -> (N, 4).
    """
    shape = [1]
    leaves = []
    shape.append(4)
    leaves.append(2.0)
    leaves.append(3.0)
    leaves.append(4.0)
    leaves.append(5.0)
    return F.linear(x, **p["fc"]) * jnp.array(leaves).reshape(shape)

# ---- the next port of this test ----
"""JAX port of Flattens (functions/test_borrowed.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def flattens(p, x):
    """A function without a result fills two lists, as `kornia` makes its constants.

    Flattens (functions/test_borrowed.py:0): x (N, 4) -> (N, 4).
    """
    shape = [1]
    leaves = []
    shape.append(4)
    leaves.append(2.0)
    leaves.append(3.0)
    leaves.append(4.0)
    leaves.append(5.0)
    return F.linear(x, **p["fc"]) * jnp.array(leaves).reshape(shape)
