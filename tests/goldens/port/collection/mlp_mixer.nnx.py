"""JAX port of MLPMixer (port_collection/vision.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Conv1d, Dropout, LayerNorm, Linear

F = functional.at("2.13")


class MLPMixer(nnx.Module):
    """MLPMixer (port_collection/vision.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.patch = 4
        self.embed = Linear(48, 4, rngs=rngs)
        self.blocks = nnx.List([MixerBlock(rngs=rngs) for _ in range(2)])
        self.norm = LayerNorm(4)
        self.head = Linear(4, 3, rngs=rngs)

    def __call__(self, images):
        # b c (h p) (w p) -> b (h w) (p p c)
        windows = jnp.arange(0, images.shape[2] - self.patch + 1, self.patch)
        windows = windows[:, None] + jnp.arange(self.patch)
        unfold = jnp.moveaxis(jnp.take(images, windows, axis=2), 3, -1)
        windows_2 = jnp.arange(0, unfold.shape[3] - self.patch + 1, self.patch)
        windows_2 = windows_2[:, None] + jnp.arange(self.patch)
        patches = jnp.moveaxis(jnp.take(unfold, windows_2, axis=3), 4, -1)
        permute = patches.transpose(0, 2, 3, 4, 5, 1)
        flatten = permute.reshape(*permute.shape[:3], -1)
        x = self.embed(flatten.reshape(flatten.shape[0], -1, flatten.shape[3]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(axis=1))


class MixerBlock(nnx.Module):
    """MixerBlock (port_collection/vision.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.token_mix = nnx.Sequential(
            Conv1d(4, 8, 1, rngs=rngs), F.gelu, Dropout(0.0, rngs=rngs), Conv1d(8, 4, 1, rngs=rngs)
        )
        self.channel_mix = nnx.Sequential(
            Linear(4, 2, rngs=rngs), F.gelu, Dropout(0.0, rngs=rngs), Linear(2, 4, rngs=rngs)
        )
        self.norms = nnx.Dict({"token": LayerNorm(4), "channel": LayerNorm(4)})

    def __call__(self, x):
        x = x + self.token_mix(self.norms["token"](x))
        return x + self.channel_mix(self.norms["channel"](x))
