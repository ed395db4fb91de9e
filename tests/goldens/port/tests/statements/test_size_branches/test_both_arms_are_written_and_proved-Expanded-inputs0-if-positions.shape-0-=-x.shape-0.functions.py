"""JAX port of Expanded (statements/test_size_branches.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def expanded(p, x, positions):
    """Expanded (statements/test_size_branches.py:0).

    x (N, L, 4), positions (1, L, 4) -> (N, L, 4).
    """
    # one row for all samples
    if positions.shape[0] != x.shape[0]:
        # a view
        positions = jnp.broadcast_to(positions, (x.shape[0], *positions.shape[1:]))
    y = jnp.concatenate([positions, positions], axis=0)
    return F.linear(x, **p["linear"]) + y[: x.shape[0]]
