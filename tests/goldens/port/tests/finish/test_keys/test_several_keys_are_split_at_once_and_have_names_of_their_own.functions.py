"""JAX port of Twice (finish/test_keys.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def twice(p, x, *, rng=None, training=False):
    """Twice (finish/test_keys.py:0): x (N, L) -> (N, L)."""
    dropout_rng_1, normal_rng, dropout_rng_2 = split_rng(rng, 3)
    x = F.dropout(x, p=0.5, training=training, key=dropout_rng_1)
    if training:
        x = x + jax.random.normal(normal_rng, x.shape, x.dtype)
    return F.dropout(jnp.tanh(x), p=0.5, training=training, key=dropout_rng_2)


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
