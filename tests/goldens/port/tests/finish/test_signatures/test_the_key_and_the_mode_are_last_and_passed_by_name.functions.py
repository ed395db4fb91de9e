"""JAX port of Net (finish/test_signatures.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def net(p, x, *, rng=None, training=False):
    """Net (finish/test_signatures.py:0): x (N, 3) -> (N, 3)."""
    first_rng, second_rng = split_rng(rng)
    first = unit(p["first"], x, x, scale=2, rng=first_rng, training=training)
    return unit(p["second"], first, x, scale=3, rng=second_rng, training=training)


def unit(p, x, gain, *, scale, rng, training):
    """Unit (finish/test_signatures.py:0): x (N, 3), gain (N, 3) -> (N, 3)."""
    return F.dropout(F.linear(x, **p["fc"]) * scale + gain, p=0.5, training=training, key=rng)


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
