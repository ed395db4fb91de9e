"""JAX port of DigitCaps (port_collection/vision.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax


class DigitCaps(nnx.Module):
    """DigitCaps (port_collection/vision.py:0).

    `jaxgrad.nnx.load_state_dict` sets `W`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self):
        self.num_caps = 4
        self.num_routing = 3
        self.W = nnx.Param(jnp.empty((1, 4, 5, 2, 3), jnp.float32))

    def __call__(self, x):
        batch_size = x.shape[0]
        x = jnp.expand_dims(jnp.expand_dims(x, 1), 4)
        u_hat = (self.W[...] @ x).squeeze(axis=-1)
        # detach u_hat during routing iterations to prevent gradients from flowing
        temp_u_hat = lax.stop_gradient(u_hat)
        b = jnp.zeros((batch_size, self.num_caps, x.shape[2], 1))
        for _ in range(self.num_routing - 1):
            c = jax.nn.softmax(b, axis=1)
            s = (c * temp_u_hat).sum(axis=2)
            v = squash(s)
            b += temp_u_hat @ jnp.expand_dims(v, -1)
        c = jax.nn.softmax(b, axis=1)
        return squash((c * u_hat).sum(axis=2))


def squash(s):
    """squash (port_collection/vision.py:0)."""
    squared = (s**2).sum(axis=-1, keepdims=True)
    return squared / (1 + squared) * s / (jnp.sqrt(squared) + 1e-8)
