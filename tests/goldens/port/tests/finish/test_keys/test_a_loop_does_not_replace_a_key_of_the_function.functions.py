"""JAX port of Heads (finish/test_keys.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def heads_forward(p, x, *, rng=None, training=False):
    """One dropout draws in each iteration of a loop, and once more after it.

    Heads (finish/test_keys.py:0): x (N, 3) -> (N, 3).
    """
    heads = []
    rng, drop_rng = split_rng(rng)
    for n in range(2):
        head = F.linear(x, **p["q"][n]) * F.linear(x, **p["k"][n])
        rng, loop_drop_rng = split_rng(rng)
        dropped = F.dropout(head, p=0.5, training=training, key=loop_drop_rng)
        heads.append(dropped)
    return F.dropout(jnp.stack(heads).mean(axis=0), p=0.5, training=training, key=drop_rng)


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)

# ---- the next port of this test ----
"""JAX port of Heads (finish/test_keys.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def heads_forward(p, x, *, rng=None, training=False):
    """One dropout draws in each iteration of a loop, and once more after it.

    Heads (finish/test_keys.py:0): x (N, 3) -> (N, 3).
    """
    heads = []
    rng, drop_rng = split_rng(rng)
    for n in range(2):
        head = F.linear(x, **p["q"][n]) * F.linear(x, **p["k"][n])
        rng, loop_drop_rng = split_rng(rng)
        dropped = F.dropout(head, p=0.5, training=training, key=loop_drop_rng)
        heads.append(dropped)
    return F.dropout(jnp.stack(heads).mean(axis=0), p=0.5, training=training, key=drop_rng)


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
