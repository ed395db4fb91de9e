"""JAX port of ModulatedConv2d (port_collection/vision.py), written by jaxgrad.port for torch 2.13.
"""

import math

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class ModulatedConv2d(nnx.Module):
    """StyleGAN2's convolution, with one weight for each sample as groups.

    ModulatedConv2d (port_collection/vision.py:0).

    `jaxgrad.nnx.load_state_dict` sets `weight`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = 1 / math.sqrt(18)
        self.out_channel = 3
        self.weight = nnx.Param(jnp.empty((1, 3, 2, 3, 3), jnp.float32))
        self.modulation = Linear(4, 2, rngs=rngs)

    def __call__(self, x, style):
        batch, in_channel, height, width = x.shape
        style = self.modulation(style).reshape(batch, 1, in_channel, 1, 1)
        weight = self.scale * self.weight[...] * style
        demod = lax.rsqrt((weight**2).sum(axis=[2, 3, 4]) + 1e-8)
        weight = weight * demod.reshape(batch, self.out_channel, 1, 1, 1)
        weight = weight.reshape(batch * self.out_channel, in_channel, *self.weight[...].shape[3:])
        out = x.reshape(1, batch * in_channel, height, width)
        out = F.conv2d(out, weight, padding=1, groups=batch)
        return out.reshape(batch, self.out_channel, height, width)
