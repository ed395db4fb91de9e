"""JAX port of Detach (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def detach(p, x):
    """Detach (port_collection/behaviours.py:0): x (N, 3) -> (N, 2)."""
    h = F.linear(x, **p["inner"])
    return F.linear(h, **p["outer"]) * lax.stop_gradient(h).sum(axis=-1, keepdims=True)
