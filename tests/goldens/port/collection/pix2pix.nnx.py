"""JAX port of Pix2PixGenerator (port_collection/vision.py), written by jaxgrad.port for torch 2.13.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Conv2d, ConvTranspose2d, Dropout

F = functional.at("2.13")


class Pix2PixGenerator(nnx.Module):
    """Pix2PixGenerator (port_collection/vision.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.down1 = Down(rngs=rngs)
        self.down2 = Down2(rngs=rngs)
        self.down3 = Down3(rngs=rngs)
        self.up1 = Up(in_channels=4, out_channels=4, rngs=rngs)
        self.up2 = Up(in_channels=8, out_channels=2, rngs=rngs)
        self.final = nnx.Sequential(
            lambda x: F.interpolate(x, scale_factor=2),
            lambda x: F.pad(x, (1, 0, 1, 0)),
            Conv2d(4, 3, 4, padding=1, rngs=rngs),
            jnp.tanh,
        )

    def __call__(self, x):
        d1 = self.down1(x)
        d2 = self.down2(d1)
        d3 = self.down3(d2)
        u1 = self.up1(d3, d2)
        return self.final(self.up2(u1, d1))


class Down(nnx.Module):
    """Down (port_collection/vision.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.model = nnx.Sequential(
            Conv2d(3, 2, 4, stride=2, padding=1, bias=False, rngs=rngs),
            lambda x: F.leaky_relu(x, negative_slope=0.2),
        )

    def __call__(self, x):
        return self.model(x)


class Down2(nnx.Module):
    """Down (port_collection/vision.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.model = nnx.Sequential(
            Conv2d(2, 4, 4, stride=2, padding=1, bias=False, rngs=rngs),
            F.instance_norm,
            lambda x: F.leaky_relu(x, negative_slope=0.2),
        )

    def __call__(self, x):
        return self.model(x)


class Down3(nnx.Module):
    """Down (port_collection/vision.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.model = nnx.Sequential(
            Conv2d(4, 4, 4, stride=2, padding=1, bias=False, rngs=rngs),
            F.instance_norm,
            lambda x: F.leaky_relu(x, negative_slope=0.2),
            Dropout(rngs=rngs),
        )

    def __call__(self, x):
        return self.model(x)


class Up(nnx.Module):
    """Up (port_collection/vision.py:0)."""

    def __init__(self, in_channels, out_channels, *, rngs: nnx.Rngs):
        self.model = nnx.Sequential(
            ConvTranspose2d(
                in_channels, out_channels, 4, stride=2, padding=1, bias=False, rngs=rngs
            ),
            F.instance_norm,
            jax.nn.relu,
        )

    def __call__(self, x, skip_input):
        return jnp.concatenate((self.model(x), skip_input), axis=1)
