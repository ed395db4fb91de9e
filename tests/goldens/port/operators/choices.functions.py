"""JAX port of Choices (port_collection/operators.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def choices(p, x):
    """Choices (port_collection/operators.py:0): x (N, 3) -> (N, 2)."""
    h = F.linear(x, **p["inner"])
    chosen = jnp.where(h < -1, -0.5, jnp.where(h > 0, h, h * 3))
    left, right = jnp.einsum("bi,bj->bij", h, chosen), F.sub(h, chosen, alpha=2)
    return F.linear(left.mean(axis=2) + F.maximum(right, h) @ h.T @ h, **p["outer"])
