"""JAX port of Net (finish/test_signatures.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from functools import partial

import jax
from jaxgrad import functional

F = functional.at("2.13")


def net(p, x, *, rng=None, training=False):
    """Net (finish/test_signatures.py:0): x (N, 3) -> (N, 3)."""
    return jax.checkpoint(partial(unit, training=training))(p["first"], x, x, rng)


def unit(p, x, gain, rng, *, scale=2, training):
    """Unit (finish/test_signatures.py:0): x (N, 3), gain (N, 3) -> (N, 3)."""
    return F.dropout(F.linear(x, **p["fc"]) * scale + gain, p=0.5, training=training, key=rng)
