"""JAX port of Data (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def data(p, x):
    """Data (port_collection/behaviours.py:0): x (N, 3) -> (N, 2)."""
    h = F.linear(x, **p["inner"])
    return F.linear(h - lax.stop_gradient(h).mean(axis=-1, keepdims=True), **p["outer"])
