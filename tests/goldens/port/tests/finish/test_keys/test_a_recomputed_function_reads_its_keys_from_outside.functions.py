"""JAX port of Recomputed (finish/test_keys.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def recomputed(p, x, *, rng=None, training=False):
    """Recomputed (finish/test_keys.py:0): x (N, 3) -> (N, 3)."""
    dropout_rng_1, dropout_rng_2 = split_rng(rng)

    def recomputed(x):
        x_2 = F.dropout(F.linear(x, **p["fc"]), p=0.5, training=training, key=dropout_rng_1)
        return jnp.sin(x_2) * F.dropout(x_2, p=0.1, training=training, key=dropout_rng_2)

    return jax.checkpoint(recomputed)(x)


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)

# ---- the next port of this test ----
"""JAX port of Recomputed (finish/test_keys.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def recomputed(p, x, *, rng=None, training=False):
    """Recomputed (finish/test_keys.py:0): x (N, 3) -> (N, 3)."""
    dropout_rng_1, dropout_rng_2 = split_rng(rng)

    def recomputed(x):
        x_2 = F.dropout(F.linear(x, **p["fc"]), p=0.5, training=training, key=dropout_rng_1)
        return jnp.sin(x_2) * F.dropout(x_2, p=0.1, training=training, key=dropout_rng_2)

    return jax.checkpoint(recomputed)(x)


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)

# ---- the next port of this test ----
"""JAX port of Recomputed (finish/test_keys.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def recomputed(p, x, *, rng=None, training=False):
    """Recomputed (finish/test_keys.py:0): x (N, 3) -> (N, 3)."""
    dropout_rng_1, dropout_rng_2 = split_rng(rng)

    def recomputed(x):
        x_2 = F.dropout(F.linear(x, **p["fc"]), p=0.5, training=training, key=dropout_rng_1)
        return jnp.sin(x_2) * F.dropout(x_2, p=0.1, training=training, key=dropout_rng_2)

    return jax.checkpoint(recomputed)(x)


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
