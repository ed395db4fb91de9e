"""JAX port of Block (ports/dropout.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def block(p, x, *, rng=None, training=False):
    """Block (ports/dropout.py:0): x (N, 4) -> (N, 4)."""
    drop_rng, out_drop_rng = split_rng(rng)
    h = F.dropout(F.gelu(F.linear(x, **p["up"])), p=0.3, training=training, key=drop_rng)
    return x + F.dropout(F.linear(h, **p["down"]), p=0.5, training=training, key=out_drop_rng)


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
