"""JAX port of Growing (loops/test_loop_statements.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def growing(p, x):
    """Growing (loops/test_loop_statements.py:0): x (N, 3) -> (N, 6)."""
    found = []
    for layer in p["layers"]:
        x = F.linear(x, **layer)
        found += [x]
    return jnp.concatenate(found, axis=1) + 0

# ---- the next port of this test ----
"""JAX port of Growing (loops/test_loop_statements.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def growing(p, x):
    """Growing (loops/test_loop_statements.py:0): x (N, 3) -> (N, 6)."""
    found = []
    for layer in p["layers"]:
        x = F.linear(x, **layer)
        found += [x]
    return jnp.concatenate(found, axis=1) + 0
