"""JAX port of Halves (finish/test_letters.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def halves(p, x):
    """Halves (finish/test_letters.py:0): x (N, 3, H, W) -> (N', 3, L')."""
    return flat(F.conv2d(x[: x.shape[0] // 2 * 2], **p["conv"], stride=2))


def flat(x):
    """Halves.flat (finish/test_letters.py:0): x (N, 3, H, W) -> (N', 3, W)."""
    assert int(x.shape[2] * 1.0) > 0  # no symbol
    return jnp.tanh(x).swapaxes(1, 2).reshape(-1, 3, x.shape[3])

# ---- the next port of this test ----
"""JAX port of Halves (finish/test_letters.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def halves(p, x):
    """Halves (finish/test_letters.py:0): x (N, 3, H, W) -> (N', 3, L')."""
    return flat(F.conv2d(x[: x.shape[0] // 2 * 2], **p["conv"], stride=2))


def flat(x):
    """Halves.flat (finish/test_letters.py:0): x (N, 3, H, W) -> (N', 3, W)."""
    assert int(x.shape[2] * 1.0) > 0  # no symbol
    return jnp.tanh(x).swapaxes(1, 2).reshape(-1, 3, x.shape[3])
