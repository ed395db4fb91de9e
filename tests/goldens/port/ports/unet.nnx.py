"""JAX port of UNet (ports/unet.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Conv2d, ConvTranspose2d, Dropout2d, GroupNorm

F = functional.at("2.13")


class UNet(nnx.Module):
    """UNet (ports/unet.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inc = DoubleConv(in_channels=2, out_channels=6, rngs=rngs)
        self.down1 = Down(in_channels=6, rngs=rngs)
        self.down2 = Down(in_channels=12, rngs=rngs)
        self.up1 = Up(rngs=rngs)
        self.up2 = Up2(rngs=rngs)
        self.refine = nnx.Sequential(Refine(rngs=rngs), Refine(rngs=rngs))
        self.dropout = Dropout2d(0.1, rngs=rngs)
        self.outc = Conv2d(6, 3, 1, dtype=jnp.float64, rngs=rngs)

    def __call__(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x = self.up2(self.up1(x3, x2), x1)
        return self.outc(self.dropout(self.refine(x)))


class DoubleConv(nnx.Module):
    """DoubleConv (ports/unet.py:0)."""

    def __init__(self, in_channels, out_channels, *, rngs: nnx.Rngs):
        self.double_conv = nnx.Sequential(
            Conv2d(
                in_channels, out_channels, 3, padding=1, bias=False, dtype=jnp.float64, rngs=rngs
            ),
            GroupNorm(2, out_channels, dtype=jnp.float64),
            jax.nn.silu,
            Conv2d(out_channels, out_channels, 3, padding=1, dtype=jnp.float64, rngs=rngs),
            GroupNorm(2, out_channels, dtype=jnp.float64),
            jax.nn.silu,
        )

    def __call__(self, x):
        return self.double_conv(x)


class Down(nnx.Module):
    """Down (ports/unet.py:0)."""

    def __init__(self, in_channels, *, rngs: nnx.Rngs):
        self.conv = DoubleConv(in_channels=in_channels, out_channels=12, rngs=rngs)

    def __call__(self, x):
        return self.conv(F.max_pool2d(x, 2, stride=2))


class Up(nnx.Module):
    """Up (ports/unet.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.up = ConvTranspose2d(12, 12, 4, stride=2, padding=1, dtype=jnp.float64, rngs=rngs)
        self.conv = DoubleConv(in_channels=24, out_channels=12, rngs=rngs)

    def __call__(self, x, skip):
        return self.conv(jnp.concatenate([skip, self.up(x)], axis=1))


class Up2(nnx.Module):
    """Up (ports/unet.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.conv = DoubleConv(in_channels=18, out_channels=6, rngs=rngs)

    def __call__(self, x, skip):
        y = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)
        return self.conv(jnp.concatenate([skip, y], axis=1))


class Refine(nnx.Module):
    """A residual layer; the refinement stacks several of them.

    Refine (ports/unet.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.norm = GroupNorm(2, 6, dtype=jnp.float64)
        self.conv = Conv2d(6, 6, 1, dtype=jnp.float64, rngs=rngs)

    def __call__(self, x):
        return x + self.conv(jax.nn.silu(self.norm(x)))
