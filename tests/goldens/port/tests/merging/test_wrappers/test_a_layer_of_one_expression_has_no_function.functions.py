"""JAX port of Net (merging/test_wrappers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def net(p, x):
    """Net (merging/test_wrappers.py:0): x (N, 3) -> (N, 3)."""
    return encode(p, jax.nn.relu(jnp.tanh(F.linear(x, **p["head"][0])) * 1)) + jax.nn.relu(-x)


def encode(p, x):
    """Net.encode (merging/test_wrappers.py:0): x (N, 3) -> (N, 3)."""
    x = F.linear(x, **p["body"][0])
    x = F.gelu(x)
    x = F.linear(x, **p["body"][2])
    return jnp.tanh(x)

# ---- the next port of this test ----
"""JAX port of Net (merging/test_wrappers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def net(p, x):
    """Net (merging/test_wrappers.py:0): x (N, 3) -> (N, 3)."""
    return encode(p, jax.nn.relu(jnp.tanh(F.linear(x, **p["head"][0])) * 1)) + jax.nn.relu(-x)


def encode(p, x):
    """Net.encode (merging/test_wrappers.py:0): x (N, 3) -> (N, 3)."""
    x = F.linear(x, **p["body"][0])
    x = F.gelu(x)
    x = F.linear(x, **p["body"][2])
    return jnp.tanh(x)
