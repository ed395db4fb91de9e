"""JAX port of Stack (nnx/test_port.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def stack(p, x, *, alpha=0.3):
    """Stack (nnx/test_port.py:0): x (N, 3) -> (N, 4)."""
    x = F.linear(x, **p["norm"])
    for block in p["blocks"]:
        x = x + alpha * split(block, x)
    return x


def split(p, x, *, heads=2, sow=2.0):
    """Split (nnx/test_port.py:0): x (N, 4) -> (N, 4)."""
    q, k, v = F.linear(x, **p["qkv"]).reshape(x.shape[0], 3, heads, -1).transpose(1, 2, 0, 3)
    attention = jax.nn.softmax(q @ k.mT * q.shape[-1] ** -0.5, axis=-1)
    return (attention @ v).transpose(1, 0, 2).reshape(x.shape) / sow

# ---- the next port of this test ----
"""JAX port of Stack (nnx/test_port.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def stack(p, x, *, alpha=0.3):
    """Stack (nnx/test_port.py:0): x (N, 3) -> (N, 4)."""
    x = F.linear(x, **p["norm"])
    for block in p["blocks"]:
        x = x + alpha * split(block, x)
    return x


def split(p, x, *, heads=2, sow=2.0):
    """Split (nnx/test_port.py:0): x (N, 4) -> (N, 4)."""
    q, k, v = F.linear(x, **p["qkv"]).reshape(x.shape[0], 3, heads, -1).transpose(1, 2, 0, 3)
    attention = jax.nn.softmax(q @ k.mT * q.shape[-1] ** -0.5, axis=-1)
    return (attention @ v).transpose(1, 0, 2).reshape(x.shape) / sow
