"""JAX port of TwoDropouts (port_collection/operators.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def two_dropouts(p, x, *, rng=None, training=False):
    """TwoDropouts (port_collection/operators.py:0): x (N, 3) -> (N, 2)."""
    h = F.linear(x, **p["inner"])
    dropout_rng_1, dropout_rng_2 = split_rng(rng)
    y = F.dropout(h, p=0.5, training=training, key=dropout_rng_1)
    return F.linear(y + 2 * F.dropout(h, p=0.5, training=training, key=dropout_rng_2), **p["outer"])


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
