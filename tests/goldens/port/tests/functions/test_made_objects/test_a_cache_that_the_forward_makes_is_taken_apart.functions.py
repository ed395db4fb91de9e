"""JAX port of Cached (functions/test_made_objects.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def cached(p, x):
    """Cached (functions/test_made_objects.py:0): x (N, 4) -> (N, 4)."""
    for block in p["blocks"]:
        x = block_forward(block, x)
    return x


def block_forward(p, x):
    """Block (functions/test_made_objects.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["fc"])
    return jnp.tanh(h)

# ---- the next port of this test ----
"""JAX port of Cached (functions/test_made_objects.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def cached(p, x):
    """Cached (functions/test_made_objects.py:0): x (N, 4) -> (N, 4)."""
    for block in p["blocks"]:
        x = block_forward(block, x)
    return x


def block_forward(p, x):
    """Block (functions/test_made_objects.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["fc"])
    return jnp.tanh(h)
