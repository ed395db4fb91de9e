"""JAX port of DigitCaps (port_collection/vision.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax


def digit_caps(p, x, *, num_caps=4, num_routing=3):
    """DigitCaps (port_collection/vision.py:0): x (batch_size, 5, 3) -> (batch_size, 4, 2)."""
    batch_size = x.shape[0]
    x = jnp.expand_dims(jnp.expand_dims(x, 1), 4)
    u_hat = (p["W"] @ x).squeeze(axis=-1)
    # detach u_hat during routing iterations to prevent gradients from flowing
    temp_u_hat = lax.stop_gradient(u_hat)
    b = jnp.zeros((batch_size, num_caps, x.shape[2], 1))
    for _ in range(num_routing - 1):
        c = jax.nn.softmax(b, axis=1)
        s = (c * temp_u_hat).sum(axis=2)
        v = squash(s)
        b += temp_u_hat @ jnp.expand_dims(v, -1)
    c = jax.nn.softmax(b, axis=1)
    return squash((c * u_hat).sum(axis=2))


def squash(s):
    """squash (port_collection/vision.py:0): s (batch_size, 4, 2) -> (batch_size, 4, 2)."""
    squared = (s**2).sum(axis=-1, keepdims=True)
    return squared / (1 + squared) * s / (jnp.sqrt(squared) + 1e-8)
