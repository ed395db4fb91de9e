"""JAX port of View (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from jaxgrad import functional

F = functional.at("2.13")


def view(p, x):
    """View (port_collection/behaviours.py:0): x (N, 3) -> (N, 2)."""
    h = F.linear(x, **p["inner"])
    h = h.at[:, 0].set(h[:, 0] * 3.0)
    return F.linear(h, **p["outer"])
