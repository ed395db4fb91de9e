"""JAX port of Settings (statements/test_stores.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def settings(p, x):
    """Settings (statements/test_stores.py:0): x (N, 4) -> (N, 4)."""
    return checks(F.linear(x, **p["layer"]))


def checks(h):
    """_checks (statements/test_stores.py:0): h (N, 4) -> (N, 4)."""
    h = h.at[:, 0].set(jnp.zeros_like(h[:, 0]))
    return h * 5

# ---- the next port of this test ----
"""JAX port of Settings (statements/test_stores.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def settings(p, x):
    """Settings (statements/test_stores.py:0): x (N, 4) -> (N, 4)."""
    return checks(F.linear(x, **p["layer"]))


def checks(h):
    """_checks (statements/test_stores.py:0): h (N, 4) -> (N, 4)."""
    h = h.at[:, 0].set(jnp.zeros_like(h[:, 0]))
    return h * 5
