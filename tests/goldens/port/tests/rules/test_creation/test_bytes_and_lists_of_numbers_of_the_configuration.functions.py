"""JAX port of Masks (rules/test_creation.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- torch.arange(1, x.ndim).tolist() == [1] (test_creation.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def masks(p, x):
    """Masks (rules/test_creation.py:0): x (N, 4) -> (N,)."""
    same = (x > 0).astype(jnp.uint8)
    return (F.linear(x, **p["fc"]) * (same ^ 1)).sum(axis=(1,))

# ---- the next port of this test ----
"""JAX port of Masks (rules/test_creation.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- torch.arange(1, x.ndim).tolist() == [1] (test_creation.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def masks(p, x):
    """Masks (rules/test_creation.py:0): x (N, 4) -> (N,)."""
    same = (x > 0).astype(jnp.uint8)
    return (F.linear(x, **p["fc"]) * (same ^ 1)).sum(axis=(1,))
