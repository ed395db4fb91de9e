"""JAX port of Zipped (loops/test_loops.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def zipped(p, x):
    """Zipped (loops/test_loops.py:0): x (N, 4) -> (N, 4)."""
    for layer, other in zip(p["layers"], p["others"]):
        x = F.linear(x, **layer)
        x = jnp.tanh(x)
    return x

# ---- the next port of this test ----
"""JAX port of Zipped (loops/test_loops.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def zipped(p, x):
    """Zipped (loops/test_loops.py:0): x (N, 4) -> (N, 4)."""
    for layer, other in zip(p["layers"], p["others"]):
        x = F.linear(x, **layer)
    return x
