"""JAX port of Residual (finish/test_keys.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def residual(p, x, *, rng=None, training=False):
    """Residual (finish/test_keys.py:0): x (N, 3) -> (N, 3)."""
    own_rng, cross_rng, drop_rng = split_rng(rng, 3)
    x = x + F.dropout(attend(p["own"], x), p=0.1, training=training, key=own_rng)
    x = x + F.dropout(attend(p["cross"], x), p=0.1, training=training, key=cross_rng)
    return F.dropout(x**2, p=0.1, training=training, key=drop_rng)


def attend(p, x):
    """Attend (finish/test_keys.py:0): x (N, 3) -> (N, 3)."""
    return jnp.tanh(F.linear(x, **p["fc"])) + x


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)

# ---- the next port of this test ----
"""JAX port of Block (finish/test_keys.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def block(p, x, *, rng=None, training=False):
    """Block (finish/test_keys.py:0): x (N, L) -> (N, L)."""
    own_rng, drop_rng_1, cross_rng, drop_rng_2 = split_rng(rng, 4)
    y = once(x, rng=own_rng, training=training)
    x = x + F.dropout(y, p=0.1, training=training, key=drop_rng_1)
    y = once(x, rng=cross_rng, training=training)
    return x + F.dropout(y, p=0.1, training=training, key=drop_rng_2)


def once(x, *, rng, training):
    """Once (finish/test_keys.py:0): x (N, L) -> (N, L)."""
    return F.dropout(jnp.tanh(x), p=0.5, training=training, key=rng)


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
