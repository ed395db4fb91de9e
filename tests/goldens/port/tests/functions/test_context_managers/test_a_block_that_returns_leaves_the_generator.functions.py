"""JAX port of Plain (functions/test_context_managers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def plain(p, x):
    """Plain (functions/test_context_managers.py:0): x (N, 4) -> (N, 4)."""
    return returns(F.linear(x, **p["layer"]))


def returns(h):
    """_returns (functions/test_context_managers.py:0): h (N, 4) -> (N, 4)."""
    twice = lax.stop_gradient(h * 2)
    return lax.stop_gradient(h + twice)
