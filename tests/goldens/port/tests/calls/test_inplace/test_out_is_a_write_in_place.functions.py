"""JAX port of Out (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def out(p, x):
    """Out (calls/test_inplace.py:0): x (N, 4) -> (N, 4)."""
    h = lax.stop_gradient(F.linear(x, **p["first"]))
    h = h * 2
    return F.linear(h, **p["second"]) + F.linear(x, **p["first"])

# ---- the next port of this test ----
"""JAX port of Out (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def out(p, x):
    """Out (calls/test_inplace.py:0): x (N, 4) -> (N, 4)."""
    h = lax.stop_gradient(F.linear(x, **p["first"]))
    h = h * 2
    return F.linear(h, **p["second"]) + F.linear(x, **p["first"])
