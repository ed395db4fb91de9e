"""JAX port of Rectified (calls/test_memory.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def rectified(p, x):
    """In torch `h` is `y` after the call, because the layer changes it in place.

    Rectified (calls/test_memory.py:0): x (N, 4) -> (N, 4).
    """
    h = F.linear(x, **p["fc"])
    y = jax.nn.relu(h)
    return y * 2 + y

# ---- the next port of this test ----
"""JAX port of Rectified (calls/test_memory.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def rectified(p, x):
    """In torch `h` is `y` after the call, because the layer changes it in place.

    Rectified (calls/test_memory.py:0): x (N, 4) -> (N, 4).
    """
    h = F.linear(x, **p["fc"])
    y = jax.nn.relu(h)
    return y * 2 + y
