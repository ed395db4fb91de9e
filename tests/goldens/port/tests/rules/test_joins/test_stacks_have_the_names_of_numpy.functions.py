"""JAX port of Stacks (rules/test_joins.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def stacks(p, x):
    """Stacks (rules/test_joins.py:0): x (3, 4) -> (3, 4)."""
    h = F.linear(x, **p["fc"])
    wide, tall = jnp.hstack([h, x]), jnp.vstack((x, h))
    deep, columns = jnp.dstack([h, x]), jnp.column_stack([h[:, 0], x[:, 1]])
    return wide.sum(axis=1) @ tall[:3] + deep[:, :, 0] * columns[:, :1]

# ---- the next port of this test ----
"""JAX port of Stacks (rules/test_joins.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
The docstrings have the sizes of the example inputs.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def stacks(p, x):
    """Stacks (rules/test_joins.py:0): x (3, 4) -> (3, 4)."""
    h = F.linear(x, **p["fc"])
    wide, tall = jnp.hstack([h, x]), jnp.vstack((x, h))
    deep, columns = jnp.dstack([h, x]), jnp.column_stack([h[:, 0], x[:, 1]])
    return wide.sum(axis=1) @ tall[:3] + deep[:, :, 0] * columns[:, :1]
