"""JAX port of Heads (functions/test_rearranging.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- length % 1 == 0 (wordwise.py:0)
- length % 4 == 0 (wordwise.py:0)
- x.ndim == 3 (test_rearranging.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def heads(p, x):
    """Heads (functions/test_rearranging.py:0): x (N, L, 8) -> (N, 2, L, 4)."""
    assert x.ndim == 3, "this port holds for x.ndim == 3, as in the example"
    q, k = [split(t) for t in (F.linear(x, **p["fc"]), x)]
    return jnp.tanh(scaled(q) + k)


def split(x):
    """Split each dimension into parts, and order them by words.

    Heads.rearrange (project/wordwise.py:0): x (N, L, 8) -> (N, 2, L, 4).
    """
    lengths = sizes(x.shape)
    x = x.reshape(lengths)
    return x.transpose(0, 2, 1, 3)


def sizes(shape):
    """sizes (project/wordwise.py:0)."""
    found = []
    length = shape[0]
    assert length % 1 == 0, (
        "this port holds for length % 1 == 0: torch takes another branch otherwise (wordwise.py:0)"
    )
    inferred = length // 1
    found.append(inferred)
    length = shape[1]
    assert length % 1 == 0, (
        "this port holds for length % 1 == 0: torch takes another branch otherwise (wordwise.py:0)"
    )
    inferred = length // 1
    found.append(inferred)
    length = shape[2]
    assert length % 4 == 0, (
        "this port holds for length % 4 == 0: torch takes another branch otherwise (wordwise.py:0)"
    )
    inferred = length // 4
    found.append(inferred)
    found.append(4)
    return found


def scaled(x):
    """It computes, so it stays a function.

    scaled (project/wordwise.py:0): x (N, 2, L, 4) -> (N, 2, L, 4).
    """
    return (x * 2).reshape(x.shape)
