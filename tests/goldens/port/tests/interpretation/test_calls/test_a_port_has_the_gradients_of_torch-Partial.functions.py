"""JAX port of Partial (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def partial_2(p, x):
    """Calls functions whose arguments are partly given, one of which is made in forward.

    Partial (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    x = scaled(F.linear(x, **p["first"]), F.linear(x, **p["second"]), factor=3.0)
    return F.layer_norm(x, x.shape[-1:], eps=0.001)


def scaled(x, y, *, factor):
    """scaled (interpretation/test_calls.py:0): x (N, 4), y (N, 4) -> (N, 4)."""
    return x * lax.stop_gradient(y) * factor

# ---- the next port of this test ----
"""JAX port of Partial (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def partial_2(p, x):
    """Calls functions whose arguments are partly given, one of which is made in forward.

    Partial (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    x = scaled(F.linear(x, **p["first"]), F.linear(x, **p["second"]), factor=3.0)
    return F.layer_norm(x, x.shape[-1:], eps=0.001)


def scaled(x, y, *, factor):
    """scaled (interpretation/test_calls.py:0): x (N, 4), y (N, 4) -> (N, 4)."""
    return x * lax.stop_gradient(y) * factor

# ---- the next port of this test ----
"""JAX port of Partial (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def partial_2(p, x):
    """Calls functions whose arguments are partly given, one of which is made in forward.

    Partial (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    x = scaled(F.linear(x, **p["first"]), F.linear(x, **p["second"]), factor=3.0)
    return F.layer_norm(x, x.shape[-1:], eps=0.001)


def scaled(x, y, *, factor):
    """scaled (interpretation/test_calls.py:0): x (N, 4), y (N, 4) -> (N, 4)."""
    return x * lax.stop_gradient(y) * factor

# ---- the next port of this test ----
"""JAX port of Partial (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def partial_2(p, x):
    """Calls functions whose arguments are partly given, one of which is made in forward.

    Partial (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    x = scaled(F.linear(x, **p["first"]), F.linear(x, **p["second"]), factor=3.0)
    return F.layer_norm(x, x.shape[-1:], eps=0.001)


def scaled(x, y, *, factor):
    """scaled (interpretation/test_calls.py:0): x (N, 4), y (N, 4) -> (N, 4)."""
    return x * lax.stop_gradient(y) * factor
