"""JAX port of Once (finish/test_keys.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def once(p, x, *, rng=None, training=False):
    """Once (finish/test_keys.py:0): x (N, L) -> (N, L)."""
    return F.dropout(jnp.tanh(x), p=0.5, training=training, key=rng)
