"""JAX port of Numbered (finish/test_unused.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- x.ndim == 2 (test_unused.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def numbered(p, x):
    """Numbered (finish/test_unused.py:0): x (N, 3) -> (N, 3)."""
    assert x.ndim == 2, "this port holds for x.ndim == 2, as in the example"
    for layer in p["layers"]:
        x = jnp.tanh(F.linear(x, **layer))
    return x

# ---- the next port of this test ----
"""JAX port of Numbered (finish/test_unused.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- x.ndim == 2 (test_unused.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def numbered(p, x):
    """Numbered (finish/test_unused.py:0): x (N, 3) -> (N, 3)."""
    assert x.ndim == 2, "this port holds for x.ndim == 2, as in the example"
    for layer in p["layers"]:
        x = jnp.tanh(F.linear(x, **layer))
    return x
