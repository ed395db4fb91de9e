"""JAX port of Noisy (modes/test_modes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def noisy(p, x, *, rng=None, training=False):
    """Noisy (modes/test_modes.py:0): x (N, 3) -> (N, 3)."""
    normal_rng, drop_path_rng = split_rng(rng)
    if training:
        # noise that only training has
        x = x + 0.1 * jax.random.normal(normal_rng, x.shape, x.dtype)
    return x + drop_path(F.linear(x, **p["fc"]), rng=drop_path_rng, training=training)


def drop_path(x, *, rng, training):
    """Noisy.drop_path (modes/test_modes.py:0): x (N, 3) -> (N, 3)."""
    if training:
        kept = jax.random.bernoulli(rng, 0.8, (x.shape[0], 1)).astype(x.dtype)
        return x * kept / 0.8
    return x


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
