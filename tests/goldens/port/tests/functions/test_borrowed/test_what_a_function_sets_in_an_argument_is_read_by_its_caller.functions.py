"""JAX port of Collects (functions/test_borrowed.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def collects(p, x):
    """Two functions fill a list of sizes and a dict of tensors, as graph networks do.

    Collects (functions/test_borrowed.py:0): x (N, 4) -> (N, 4).
    """
    h = F.linear(x, **p["fc"])
    item = h.shape[0]
    found = h.shape[0]
    mean = h.mean()
    found = {"mean": mean, "size": found}
    rows = found["size"]
    return jnp.zeros((rows, 4)) + h * found["mean"] + item

# ---- the next port of this test ----
"""JAX port of Collects (functions/test_borrowed.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def collects(p, x):
    """Two functions fill a list of sizes and a dict of tensors, as graph networks do.

    Collects (functions/test_borrowed.py:0): x (N, 4) -> (N, 4).
    """
    h = F.linear(x, **p["fc"])
    item = h.shape[0]
    found = h.shape[0]
    mean = h.mean()
    found = {"mean": mean, "size": found}
    rows = found["size"]
    return jnp.zeros((rows, 4)) + h * found["mean"] + item
