"""JAX port of Tree (merging/test_merging.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def tree(p, x, *, scale=2.0):
    """A module that holds a smaller one of its own class.

    Tree (merging/test_merging.py:0): x (N, 3) -> (N, 3).
    """
    x = inner_tree(p["inner"], x)
    return jnp.sin(F.linear(x, **p["fc"])) * scale


def inner_tree(p, x, *, scale=0.5):
    """A module that holds a smaller one of its own class.

    Tree (merging/test_merging.py:0): x (N, 3) -> (N, 3).
    """
    return jnp.sin(F.linear(x, **p["fc"])) * scale

# ---- the next port of this test ----
"""JAX port of Tree (merging/test_merging.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def tree(p, x, *, scale=2.0):
    """A module that holds a smaller one of its own class.

    Tree (merging/test_merging.py:0): x (N, 3) -> (N, 3).
    """
    x = inner_tree(p["inner"], x)
    return jnp.sin(F.linear(x, **p["fc"])) * scale


def inner_tree(p, x, *, scale=0.5):
    """A module that holds a smaller one of its own class.

    Tree (merging/test_merging.py:0): x (N, 3) -> (N, 3).
    """
    return jnp.sin(F.linear(x, **p["fc"])) * scale

# ---- the next port of this test ----
"""JAX port of Tree (merging/test_merging.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def tree(p, x, *, scale=2.0):
    """A module that holds a smaller one of its own class.

    Tree (merging/test_merging.py:0): x (N, 3) -> (N, 3).
    """
    x = inner_tree(p["inner"], x, level=2)
    return jnp.sin(F.linear(x, **p["fc"])) * scale


def inner_tree(p, x, *, level, scale=0.5):
    """A module that holds a smaller one of its own class.

    Tree (merging/test_merging.py:0): x (N, 3) -> (N, 3).
    """
    if level > 1:
        x = inner_tree(p["inner"], x, level=1)
    return jnp.sin(F.linear(x, **p["fc"])) * scale
