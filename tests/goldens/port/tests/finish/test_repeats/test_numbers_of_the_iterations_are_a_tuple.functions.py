"""JAX port of Dilated (finish/test_repeats.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def dilated(p, x):
    """Convolutions with a dilation each, whose outputs are added up.

    Dilated (finish/test_repeats.py:0): x (N, 4, L) -> (N, 4, L).
    """
    total = 0
    for i, dilation in enumerate((1, 2, 4)):
        x = x + F.conv1d(F.pad(x, (dilation, 0)), **p["filters"][i], dilation=dilation)
        total = total + jnp.tanh(x)
    return total

# ---- the next port of this test ----
"""JAX port of Dilated (finish/test_repeats.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def dilated(p, x):
    """Convolutions with a dilation each, whose outputs are added up.

    Dilated (finish/test_repeats.py:0): x (N, 4, L) -> (N, 4, L).
    """
    total = 0
    for i, dilation in enumerate((1, 2, 4)):
        x = x + F.conv1d(F.pad(x, (dilation, 0)), **p["filters"][i], dilation=dilation)
        total = total + jnp.tanh(x)
    return total

# ---- the next port of this test ----
"""JAX port of Dilated (finish/test_repeats.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def dilated(p, x):
    """Convolutions with a dilation each, whose outputs are added up.

    Dilated (finish/test_repeats.py:0): x (N, 4, L) -> (N, 4, L).
    """
    total = 0
    for i, dilation in enumerate((1, 2, 4)):
        x = x + F.conv1d(F.pad(x, (dilation, 0)), **p["filters"][i], dilation=dilation)
        total = total + jnp.tanh(x)
    return total
