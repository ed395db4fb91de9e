"""JAX port of Recorded (calls/test_memory.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- x.detach() shares the memory of x in torch; here it is a value of its own.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def recorded(p, x):
    """Only the value that is added is detached.

    Recorded (calls/test_memory.py:0): x (N, 4) -> (N, 4).
    """
    h = F.linear(x, **p["fc"])
    h = h + lax.stop_gradient(h) * 2
    return h**2

# ---- the next port of this test ----
"""JAX port of Recorded (calls/test_memory.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- x.detach() shares the memory of x in torch; here it is a value of its own.
"""

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def recorded(p, x):
    """Only the value that is added is detached.

    Recorded (calls/test_memory.py:0): x (N, 4) -> (N, 4).
    """
    h = F.linear(x, **p["fc"])
    h = h + lax.stop_gradient(h) * 2
    return h**2
