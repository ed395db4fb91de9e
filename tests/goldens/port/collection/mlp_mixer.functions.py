"""JAX port of MLPMixer (port_collection/vision.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def mlp_mixer(p, images, *, patch=4):
    """MLPMixer (port_collection/vision.py:0): images (N, 3, 8, 8) -> (N, 3)."""
    # b c (h p) (w p) -> b (h w) (p p c)
    windows = jnp.arange(0, images.shape[2] - patch + 1, patch)[:, None] + jnp.arange(patch)
    patches = jnp.moveaxis(jnp.take(images, windows, axis=2), 3, -1)
    windows = jnp.arange(0, patches.shape[3] - patch + 1, patch)[:, None] + jnp.arange(patch)
    patches = jnp.moveaxis(jnp.take(patches, windows, axis=3), 4, -1)
    x = patches.transpose(0, 2, 3, 4, 5, 1)
    x = x.reshape(*x.shape[:3], -1)
    x = F.linear(x.reshape(x.shape[0], -1, x.shape[3]), **p["embed"])
    for block in p["blocks"]:
        x = mixer_block(block, x)
    return F.linear(F.layer_norm(x, x.shape[-1:], **p["norm"]).mean(axis=1), **p["head"])


def mixer_block(p, x):
    """MixerBlock (port_collection/vision.py:0): x (N, 4, 4) -> (N, 4, 4)."""
    x = x + token_mix(p["token_mix"], F.layer_norm(x, x.shape[-1:], **p["norms"]["token"]))
    return x + channel_mix(p["channel_mix"], F.layer_norm(x, x.shape[-1:], **p["norms"]["channel"]))


def token_mix(p, x):
    """MixerBlock.token_mix (port_collection/vision.py:0): x (N, 4, 4) -> (N, 4, 4)."""
    x = F.conv1d(x, **p[0])
    x = F.gelu(x)
    return F.conv1d(x, **p[3])


def channel_mix(p, x):
    """MixerBlock.channel_mix (port_collection/vision.py:0): x (N, 4, 4) -> (N, 4, 4)."""
    x = F.linear(x, **p[0])
    x = F.gelu(x)
    return F.linear(x, **p[3])
