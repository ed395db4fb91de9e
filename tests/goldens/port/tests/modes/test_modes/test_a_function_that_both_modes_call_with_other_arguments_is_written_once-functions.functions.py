"""JAX port of NoisyCopies (modes/test_modes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def noisy_copies(p, x, *, rng=None, training=False):
    """A flow that adds noise in train mode, so that its modes call a method differently.

    NoisyCopies (modes/test_modes.py:0): x (N, 3) -> (N, 3).
    """
    if training:
        noise = jax.random.uniform(rng, x.shape, x.dtype)
        z, total = encode(p, x + noise)
    else:
        z, total = encode(p, x + 0.0)
    return z + total[:, None]


def encode(p, x):
    """NoisyCopies.encode (modes/test_modes.py:0): x (N, 3) -> (N, 3), h (N,)."""
    h = jnp.tanh(F.linear(x, **p["net"][0]))
    return h * 2, h.sum(axis=-1)
