"""JAX port of Data (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

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
    """A module that gives a tensor its own data again, and sets `requires_grad` of another one.

    Data (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    x = F.linear(x, **p["first"])
    target = lax.stop_gradient(F.linear(x, **p["second"]))
    return (x - target) * lax.stop_gradient(x)

# ---- the next port of this test ----
"""JAX port of Data (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

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
    """A module that gives a tensor its own data again, and sets `requires_grad` of another one.

    Data (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    x = F.linear(x, **p["first"])
    target = lax.stop_gradient(F.linear(x, **p["second"]))
    return (x - target) * lax.stop_gradient(x)

# ---- the next port of this test ----
"""JAX port of Data (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

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
    """A module that gives a tensor its own data again, and sets `requires_grad` of another one.

    Data (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    x = F.linear(x, **p["first"])
    target = lax.stop_gradient(F.linear(x, **p["second"]))
    return (x - target) * lax.stop_gradient(x)

# ---- the next port of this test ----
"""JAX port of Data (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

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
    """A module that gives a tensor its own data again, and sets `requires_grad` of another one.

    Data (interpretation/test_calls.py:0): x (N, 4) -> (N, 4).
    """
    x = F.linear(x, **p["first"])
    target = lax.stop_gradient(F.linear(x, **p["second"]))
    return (x - target) * lax.stop_gradient(x)
