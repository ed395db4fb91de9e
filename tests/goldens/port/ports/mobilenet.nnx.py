"""JAX port of MobileNetV2 (ports/mobilenet.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import BatchNorm2d, Conv2d, Dropout, Linear

F = functional.at("2.13")


class MobileNetV2(nnx.Module):
    """MobileNetV2 (ports/mobilenet.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.features = nnx.Sequential(
            ConvBNReLU(
                in_channels=3,
                out_channels=8,
                kernel_size=3,
                stride=2,
                padding=1,
                groups=1,
                rngs=rngs,
            ),
            InvertedResidual(rngs=rngs),
            InvertedResidual2(rngs=rngs),
            InvertedResidual3(rngs=rngs),
            ConvBNReLU(
                in_channels=12,
                out_channels=16,
                kernel_size=1,
                stride=1,
                padding=0,
                groups=1,
                rngs=rngs,
            ),
        )
        self.classifier = nnx.Sequential(
            Dropout(0.2, rngs=rngs), Linear(16, 4, dtype=jnp.float64, rngs=rngs)
        )

    def __call__(self, x):
        return self.classifier(self.features(x).mean(axis=[2, 3]))


class ConvBNReLU(nnx.Module):
    """ConvBNReLU (ports/mobilenet.py:0)."""

    def __init__(
        self, in_channels, out_channels, kernel_size, stride, padding, groups, *, rngs: nnx.Rngs
    ):
        setattr(
            self,
            "0",
            Conv2d(
                in_channels,
                out_channels,
                kernel_size,
                stride=stride,
                padding=padding,
                groups=groups,
                bias=False,
                dtype=jnp.float64,
                rngs=rngs,
            ),
        )
        setattr(self, "1", BatchNorm2d(out_channels, dtype=jnp.float64))

    def __call__(self, x):
        x = getattr(self, "0")(x)
        x = getattr(self, "1")(x)
        return F.relu6(x)


class InvertedResidual(nnx.Module):
    """InvertedResidual (ports/mobilenet.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.conv = nnx.Sequential(
            ConvBNReLU(
                in_channels=8,
                out_channels=8,
                kernel_size=3,
                stride=1,
                padding=1,
                groups=8,
                rngs=rngs,
            ),
            Conv2d(8, 8, 1, bias=False, dtype=jnp.float64, rngs=rngs),
            BatchNorm2d(8, dtype=jnp.float64),
        )

    def __call__(self, x):
        return x + self.conv(x)


class InvertedResidual2(nnx.Module):
    """InvertedResidual (ports/mobilenet.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.conv = nnx.Sequential(
            ConvBNReLU(
                in_channels=8,
                out_channels=24,
                kernel_size=1,
                stride=1,
                padding=0,
                groups=1,
                rngs=rngs,
            ),
            ConvBNReLU(
                in_channels=24,
                out_channels=24,
                kernel_size=3,
                stride=2,
                padding=1,
                groups=24,
                rngs=rngs,
            ),
            Conv2d(24, 12, 1, bias=False, dtype=jnp.float64, rngs=rngs),
            BatchNorm2d(12, dtype=jnp.float64),
        )

    def __call__(self, x):
        return self.conv(x)


class InvertedResidual3(nnx.Module):
    """InvertedResidual (ports/mobilenet.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.conv = nnx.Sequential(
            ConvBNReLU(
                in_channels=12,
                out_channels=36,
                kernel_size=1,
                stride=1,
                padding=0,
                groups=1,
                rngs=rngs,
            ),
            ConvBNReLU(
                in_channels=36,
                out_channels=36,
                kernel_size=3,
                stride=1,
                padding=1,
                groups=36,
                rngs=rngs,
            ),
            Conv2d(36, 12, 1, bias=False, dtype=jnp.float64, rngs=rngs),
            BatchNorm2d(12, dtype=jnp.float64),
        )

    def __call__(self, x):
        return x + self.conv(x)
