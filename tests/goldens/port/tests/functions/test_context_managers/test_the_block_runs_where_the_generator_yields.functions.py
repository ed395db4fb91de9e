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
    return frozen(F.linear(x, **p["layer"]))


def frozen(h):
    """_frozen (functions/test_context_managers.py:0): h (N, 4) -> (N, 4)."""
    scale = F.max(F.abs(lax.stop_gradient(h)))
    scale = lax.stop_gradient(scale)
    pair = lax.stop_gradient(h * 2), lax.stop_gradient(h * 3 + scale)
    first, second = pair
    return h + first * second

# ---- the next port of this test ----
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
    return frozen(F.linear(x, **p["layer"]))


def frozen(h):
    """_frozen (functions/test_context_managers.py:0): h (N, 4) -> (N, 4)."""
    scale = F.max(F.abs(lax.stop_gradient(h)))
    scale = lax.stop_gradient(scale)
    pair = lax.stop_gradient(h * 2), lax.stop_gradient(h * 3 + scale)
    first, second = pair
    return h + first * second
