"""JAX port of Net (nnx/test_submodules.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def net(p, x):
    """Net (nnx/test_submodules.py:0): x (N, 4) -> (N, 5)."""
    return residual(p["second"], residual(p["first"], x))


def residual(p, x):
    """The skip connection is a layer if the sizes differ, and else nothing.

    Residual (nnx/test_submodules.py:0): x (N, D) -> (N, 5).
    """
    if p.get("skip"):
        shortcut = F.linear(x, **p["skip"])
    else:
        shortcut = x
    return jnp.tanh(F.linear(x, **p["lin"])) + shortcut
