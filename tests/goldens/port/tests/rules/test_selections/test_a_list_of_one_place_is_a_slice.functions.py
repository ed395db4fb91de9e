"""JAX port of Columns (rules/test_selections.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def columns(p, x):
    """Columns (rules/test_selections.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["fc"])
    return (
        h[..., -2:-1] * h[1:2]
        + h[:, -1:] * h[:, jnp.array([0, 2])].sum()
        + h[jnp.array([0]), jnp.array([1])]
    )

# ---- the next port of this test ----
"""JAX port of Columns (rules/test_selections.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def columns(p, x):
    """Columns (rules/test_selections.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["fc"])
    return (
        h[..., -2:-1] * h[1:2]
        + h[:, -1:] * h[:, jnp.array([0, 2])].sum()
        + h[jnp.array([0]), jnp.array([1])]
    )
