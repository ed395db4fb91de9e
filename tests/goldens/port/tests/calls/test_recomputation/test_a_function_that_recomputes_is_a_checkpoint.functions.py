"""JAX port of Block (calls/test_recomputation.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def block(p, x, scale):
    """Block (calls/test_recomputation.py:0): x (N, 4), scale (N, 1) -> (N, 4)."""
    return jax.checkpoint(block_block)(p, x, scale)


def block_block(p, x, scale):
    """Block.block (calls/test_recomputation.py:0): x (N, 4), scale (N, 1) -> (N, 4)."""
    return F.linear(jnp.tanh(F.linear(x, **p["first"])) * scale, **p["second"])

# ---- the next port of this test ----
"""JAX port of Block (calls/test_recomputation.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def block(p, x, scale):
    """Block (calls/test_recomputation.py:0): x (N, 4), scale (N, 1) -> (N, 4)."""
    return jax.checkpoint(block_block)(p, x, scale)


def block_block(p, x, scale):
    """Block.block (calls/test_recomputation.py:0): x (N, 4), scale (N, 1) -> (N, 4)."""
    return F.linear(jnp.tanh(F.linear(x, **p["first"])) * scale, **p["second"])
