"""JAX port of ModulatedConv2d (port_collection/vision.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import math

from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def modulated_conv2d(p, x, style, *, out_channel=3):
    """StyleGAN2's convolution, with one weight for each sample as groups.

    ModulatedConv2d (port_collection/vision.py:0).

    x (batch, 2, height, width), style (batch, 4) -> (batch, 3, height, width).
    """
    batch, in_channel, height, width = x.shape
    style = F.linear(style, **p["modulation"]).reshape(batch, 1, in_channel, 1, 1)
    scale = 1 / math.sqrt(18)
    weight = scale * p["weight"] * style
    demod = lax.rsqrt((weight**2).sum(axis=(2, 3, 4)) + 1e-8)
    weight = weight * demod.reshape(batch, out_channel, 1, 1, 1)
    weight = weight.reshape(batch * out_channel, in_channel, *p["weight"].shape[3:])
    out = F.conv2d(x.reshape(1, batch * in_channel, height, width), weight, padding=1, groups=batch)
    return out.reshape(batch, out_channel, height, width)
