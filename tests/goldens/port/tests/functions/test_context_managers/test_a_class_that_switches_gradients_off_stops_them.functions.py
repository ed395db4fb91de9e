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
    return grad_mode_of_a_class(F.linear(x, **p["layer"]))


def grad_mode_of_a_class(h):
    """_grad_mode_of_a_class (functions/test_context_managers.py:0): h (N, 4) -> (N, 4)."""
    scale = lax.stop_gradient(h * 2)
    return h * scale

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
    return grad_mode_of_a_class(F.linear(x, **p["layer"]))


def grad_mode_of_a_class(h):
    """_grad_mode_of_a_class (functions/test_context_managers.py:0): h (N, 4) -> (N, 4)."""
    scale = lax.stop_gradient(h * 2)
    return h * scale
