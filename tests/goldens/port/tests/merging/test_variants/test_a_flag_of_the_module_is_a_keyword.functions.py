"""JAX port of Net (merging/test_variants.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def net(p, x):
    """Net (merging/test_variants.py:0): x (N, 3) -> (N, 3)."""
    return block(p["second"], block(p["first"], x, gate=False), gate=True)


def block(p, x, *, gate):
    """Block (merging/test_variants.py:0): x (N, 3) -> (N, 3)."""
    identity = F.linear(x, **p["down"])
    out = jnp.tanh(F.linear(x, **p["lin"])) + identity
    if gate:
        return jax.nn.sigmoid(out)
    return out

# ---- the next port of this test ----
"""JAX port of Net (merging/test_variants.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def net(p, x):
    """Net (merging/test_variants.py:0): x (N, 3) -> (N, 3)."""
    return block(p["second"], block(p["first"], x, gate=False), gate=True)


def block(p, x, *, gate):
    """Block (merging/test_variants.py:0): x (N, 3) -> (N, 3)."""
    identity = F.linear(x, **p["down"])
    out = jnp.tanh(F.linear(x, **p["lin"])) + identity
    if gate:
        return jax.nn.sigmoid(out)
    return out

# ---- the next port of this test ----
"""JAX port of Net (merging/test_variants.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def net(p, x):
    """Net (merging/test_variants.py:0): x (N, 3) -> (N, 3)."""
    return block(p["second"], block(p["first"], x, gate=False), gate=True)


def block(p, x, *, gate):
    """Block (merging/test_variants.py:0): x (N, 3) -> (N, 3)."""
    identity = F.linear(x, **p["down"])
    out = jnp.tanh(F.linear(x, **p["lin"])) + identity
    if gate:
        return jax.nn.sigmoid(out)
    return out
