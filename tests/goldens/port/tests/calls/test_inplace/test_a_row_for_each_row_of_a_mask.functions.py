"""JAX port of OnePerPlace (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def one_per_place(p, x):
    """The mask chooses rows, and each of them gets the same row.

    OnePerPlace (calls/test_inplace.py:0): x (N, 4) -> (N, 4).
    """
    h = F.linear(x, **p["first"])
    h = jnp.where((x[:, 0] > 0)[..., None], h + p["second"]["weight"][:1], h)
    h = jnp.where((x[:, 1] > 0)[..., None], p["second"]["bias"], h)
    return h * 2

# ---- the next port of this test ----
"""JAX port of OnePerPlace (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def one_per_place(p, x):
    """The mask chooses rows, and each of them gets the same row.

    OnePerPlace (calls/test_inplace.py:0): x (N, 4) -> (N, 4).
    """
    h = F.linear(x, **p["first"])
    h = jnp.where((x[:, 0] > 0)[..., None], h + p["second"]["weight"][:1], h)
    h = jnp.where((x[:, 1] > 0)[..., None], p["second"]["bias"], h)
    return h * 2
