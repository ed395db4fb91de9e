"""JAX port of Stack (nnx/test_port.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def stack(p, x):
    """Stack (nnx/test_port.py:0): x (N, 3) -> (N, 1)."""
    for layer in p["layers"]:
        x = jnp.tanh(F.linear(x, **layer))
    return head(p["head"], x)


def head(p, x):
    """Stack.head (nnx/test_port.py:0): x (N, 3) -> (N, 1)."""
    for module in p:
        x = F.linear(x, **module)
    return x
