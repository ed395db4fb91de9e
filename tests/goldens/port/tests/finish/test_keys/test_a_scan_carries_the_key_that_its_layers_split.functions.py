"""JAX port of Scanned (finish/test_keys.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def scanned(p, x, *, rng=None, training=False):
    """Scanned (finish/test_keys.py:0): x (N, 3) -> (N, 3)."""
    rng, drop_rng_1, drop_rng_2 = split_rng(rng, 3)
    x = F.dropout(x, p=0.2, training=training, key=drop_rng_1)

    def layer_2(carry, layer):
        rng, x = carry
        rng, layer_rng = split_rng(rng)
        return (rng, layer_forward(layer, x, rng=layer_rng, training=training)), None

    (rng, x), _ = lax.scan(layer_2, (rng, x), stacked(p["layers"]))
    return F.dropout(x, p=0.2, training=training, key=drop_rng_2)


def layer_forward(p, x, *, rng, training):
    """Layer (finish/test_keys.py:0): x (N, 3) -> (N, 3)."""
    return x + F.dropout(F.linear(x, **p["fc"]), p=0.1, training=training, key=rng)


def stacked(layers):
    """Return the params of equal layers with a leading axis; stacked ones stay as they are."""
    return jax.tree.map(lambda *xs: jnp.stack(xs), *layers) if isinstance(layers, list) else layers


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
