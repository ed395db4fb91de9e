"""JAX port of Shifted (finish/test_repeats.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def shifted(p, x):
    """Each iteration reads another parameter, which is not an element of a list.

    Shifted (finish/test_repeats.py:0): x (N, 4, L) -> (N, 4, L).
    """
    x = x * 2
    shift = p["early"]
    x = jnp.tanh(F.conv1d(x, **p["layers"][0]) + shift)
    x = x * 3
    x = x * 2
    shift = p["late"]
    x = jnp.tanh(F.conv1d(x, **p["layers"][1], padding=1) + shift)
    return x * 3

# ---- the next port of this test ----
"""JAX port of Shifted (finish/test_repeats.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def shifted(p, x):
    """Each iteration reads another parameter, which is not an element of a list.

    Shifted (finish/test_repeats.py:0): x (N, 4, L) -> (N, 4, L).
    """
    x = x * 2
    shift = p["early"]
    x = jnp.tanh(F.conv1d(x, **p["layers"][0]) + shift)
    x = x * 3
    x = x * 2
    shift = p["late"]
    x = jnp.tanh(F.conv1d(x, **p["layers"][1], padding=1) + shift)
    return x * 3

# ---- the next port of this test ----
"""JAX port of Signed (finish/test_repeats.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def signed(p, x):
    """Signed (finish/test_repeats.py:0): x (N, 4, L) -> (N, 4, L)."""
    x = jnp.tanh(F.conv1d(x, **p["layers"][0]) * 1)
    x = x * 2
    x = jnp.tanh(F.conv1d(x, **p["layers"][2]) * -1)
    x = x * 2
    x = jnp.tanh(F.conv1d(x, **p["layers"][4]) * 1)
    return x * 2
