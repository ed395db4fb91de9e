"""JAX port of Nested (calls/test_hooks.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def nested(p, x, *, rng=None, training=False):
    """A module that checkpoints a nested function, as torchvision's DenseNet does.

    Nested (calls/test_hooks.py:0): x (N, 3) -> (N, 2).
    """
    scale = jax.nn.sigmoid(x)

    def recomputed(x):
        joined = jnp.concatenate([x, scale], axis=1)
        return layers(p["layers"], joined * jnp.tanh(joined), rng=rng, training=training) * 2

    return F.linear(jax.checkpoint(recomputed)(x), **p["out"])


def layers(p, x, *, rng, training):
    """Nested.layers (calls/test_hooks.py:0): x (N, 6) -> (N, 6)."""
    x = F.linear(x, **p[0])
    return F.dropout(x, p=0.2, training=training, key=rng)
