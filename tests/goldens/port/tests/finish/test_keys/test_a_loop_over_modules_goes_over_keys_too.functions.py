"""JAX port of Loops (finish/test_keys.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def loops(p, x, *, rng=None, training=False):
    """Loops (finish/test_keys.py:0): x (N, 3) -> (N, 3)."""
    for layer, layer_rng in zip(p["layers"], split_rng(rng, len(p["layers"]))):
        x = F.dropout(F.linear(x, **layer), p=0.5, training=training, key=layer_rng)
    return x


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)

# ---- the next port of this test ----
"""JAX port of Loops (finish/test_keys.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def loops(p, x, *, rng=None, training=False):
    """Loops (finish/test_keys.py:0): x (N, 3) -> (N, 3).

    JAX unrolls `for t in range(x.shape[0])`, so compile time grows with the number of
    iterations; use lax.scan for long inputs.
    """
    rng, layers_rng = split_rng(rng)
    for layer, layer_rng in zip(p["layers"], split_rng(layers_rng, len(p["layers"]))):
        x = F.dropout(F.linear(x, **layer), p=0.5, training=training, key=layer_rng)
    for t in range(x.shape[0]):
        rng, dropout_rng = split_rng(rng)
        x = x + F.dropout(x[t], p=0.5, training=training, key=dropout_rng)
    return x


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
