"""JAX port of Net (merging/test_variants.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def net(p, x):
    """Net (merging/test_variants.py:0): x (N, 3) -> (N, 3)."""
    return block(p["second"], block(p["first"], x))


def block(p, x):
    """Block (merging/test_variants.py:0): x (N, 3) -> (N, 3)."""
    if "down" in p:
        identity = F.linear(x, **p["down"])
    else:
        identity = x
    return jnp.tanh(F.linear(x, **p["lin"])) + identity

# ---- the next port of this test ----
"""JAX port of Net (merging/test_variants.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def net(p, x):
    """Net (merging/test_variants.py:0): x (N, 3) -> (N, 3)."""
    return block(p["second"], block(p["first"], x))


def block(p, x):
    """Block (merging/test_variants.py:0): x (N, 3) -> (N, 3)."""
    if "down" in p:
        identity = F.linear(x, **p["down"])
    else:
        identity = x
    return jnp.tanh(F.linear(x, **p["lin"])) + identity
