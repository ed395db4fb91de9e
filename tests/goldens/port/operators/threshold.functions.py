"""JAX port of Threshold (port_collection/operators.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def threshold(p, x):
    """Threshold (port_collection/operators.py:0): x (N, 3) -> (N, 2)."""
    return F.linear(F.linear(x, **p["inner"]) * (x.sum(axis=-1, keepdims=True) > 0), **p["outer"])
