"""JAX port of Ties (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def ties(p, x):
    """Ties (port_collection/behaviours.py:0): x (N, L) -> (N, 3)."""
    return F.max(x, dim=-1).values[:, None] * p["scale"]
