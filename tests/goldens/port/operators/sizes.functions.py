"""JAX port of Sizes (port_collection/operators.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def sizes(p, x):
    """Sizes (port_collection/operators.py:0): x (N, 3) -> (N, 2)."""
    h = F.linear(x, **p["inner"]).reshape(x.shape[0] * 2, 2)
    return F.linear(h.reshape(x.shape[0], -1) / x.shape[0], **p["outer"])
