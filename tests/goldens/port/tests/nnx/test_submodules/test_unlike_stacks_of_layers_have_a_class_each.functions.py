"""JAX port of Stacks (nnx/test_submodules.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def stacks(p, x):
    """Stacks (nnx/test_submodules.py:0): x (N, 4) -> (N, 2)."""
    return second_stack(p["second"], first_stack(p["first"], x))


def second_stack(p, x):
    """Its layers are all that it has.

    Stack (nnx/test_submodules.py:0): x (N, 5) -> (N, 2).
    """
    x = F.linear(x, **p["layers"][0])
    x = jnp.tanh(x)
    x = F.linear(x, **p["layers"][2])
    return x * 2


def first_stack(p, x):
    """Its layers are all that it has.

    Stack (nnx/test_submodules.py:0): x (N, 4) -> (N, 5).
    """
    return jax.nn.relu(F.linear(x, **p["layers"][0])) * 2
