"""JAX port of Perceiver (port_collection/structured.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import MultiheadAttention, TransformerEncoderLayer


class Perceiver(nnx.Module):
    """Perceiver (port_collection/structured.py:0).

    `jaxgrad.nnx.load_state_dict` sets `latents`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.latents = nnx.Param(jnp.empty((3, 4), jnp.float32))
        self.cross_attend = MultiheadAttention(4, 2, kdim=5, vdim=5, batch_first=True, rngs=rngs)
        self.layers = nnx.List(
            [
                TransformerEncoderLayer(
                    4, 2, dim_feedforward=6, batch_first=True, norm_first=True, rngs=rngs
                ) for _ in range(2)
            ]
        )

    def __call__(self, data, mask):
        x = jnp.broadcast_to(self.latents[...], (data.shape[0], *self.latents[...].shape))
        attended, weights = self.cross_attend(x, data, data, key_padding_mask=mask)
        x = x + attended
        for layer in self.layers:
            x = layer(x)
        return x.mean(axis=1), weights
