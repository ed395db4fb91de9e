"""JAX port of Heads (functions/test_rearranging.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- length % 1 == 0 (wordwise.py:0)
- length % 4 == 0 (wordwise.py:0)
- x.ndim == 3 (test_rearranging.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Heads(nnx.Module):
    """Heads (functions/test_rearranging.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(8, 8, rngs=rngs)

    def __call__(self, x):
        assert x.ndim == 3, "this port holds for x.ndim == 3, as in the example"
        q, k = [self.split(t) for t in (self.fc(x), x)]
        return jnp.tanh(scaled(q) + k)

    def split(self, x):
        return rearrange(x)


def scaled(x):
    """It computes, so it stays a function.

    scaled (project/wordwise.py:0).
    """
    return (x * 2).reshape(*x.shape)


def rearrange(x):
    """Split each dimension into parts, and order them by words.

    rearrange (project/wordwise.py:0).
    """
    lengths = sizes(x.shape)
    x = x.reshape(*lengths)
    x = x.transpose(0, 2, 1, 3)
    return x


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
