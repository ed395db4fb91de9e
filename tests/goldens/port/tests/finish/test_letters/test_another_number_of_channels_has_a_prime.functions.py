"""JAX port of Skips (finish/test_letters.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def skips(p, x):
    """Skips (finish/test_letters.py:0): x (N, 3, H, W) -> ()."""
    y = F.conv2d(x, **p["a"])
    return join(y, x).sum() + join(x, y[:, 1:]).sum()


def join(x, skip):
    """Skips.join (finish/test_letters.py:0).

    x (N, C, H, W), skip (N, C', H, W) -> (N, C'', H, W).
    """
    return jnp.concatenate([jnp.sin(x), skip], axis=1)
