"""JAX port of Diagonal (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def diagonal(p, x):
    """Only the diagonal of a matrix changes, and the whole matrix is read after it.

    Diagonal (calls/test_inplace.py:0): x (N, 4) -> (4, 4).
    """
    h = F.linear(x, **p["first"])
    c = h.T @ h
    c = jnp.fill_diagonal(c, F.diagonal(c) - 1, inplace=False)
    c = jnp.fill_diagonal(c, F.diagonal(c) ** 2, inplace=False)
    on = F.diagonal(c).sum()
    return on + F.linear(c, **p["second"])

# ---- the next port of this test ----
"""JAX port of Diagonal (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def diagonal(p, x):
    """Only the diagonal of a matrix changes, and the whole matrix is read after it.

    Diagonal (calls/test_inplace.py:0): x (N, 4) -> (4, 4).
    """
    h = F.linear(x, **p["first"])
    c = h.T @ h
    c = jnp.fill_diagonal(c, F.diagonal(c) - 1, inplace=False)
    c = jnp.fill_diagonal(c, F.diagonal(c) ** 2, inplace=False)
    on = F.diagonal(c).sum()
    return on + F.linear(c, **p["second"])
