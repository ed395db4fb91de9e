"""JAX port of Region (finish/test_stops.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def region(p, x):
    """Region (finish/test_stops.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["first"])
    norm = lax.stop_gradient(F.norm(h, dim=1, keepdim=True))
    norm = norm + 1
    gate = lax.stop_gradient(F.linear(h, **p["second"]))
    return F.linear(h / norm, **p["second"]) * gate
