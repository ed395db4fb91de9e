"""Layers that change the resolution of an image, or the order of its channels."""

from __future__ import annotations

from collections.abc import Sequence

from jaxgrad import functional
from jaxgrad.nnx.module import Array, Layer, Sizes


Scale = float | Sequence[float] | None


class Upsample(Layer):
    """Resize the spatial dims by interpolation.

    Args:
        size: The new sizes.
        scale_factor: The new sizes relative to the old ones, instead of `size`.
        mode: "nearest", "linear", "bilinear", "bicubic" or "trilinear".
        align_corners: Whether the corners of input and output are at the same places.
        recompute_scale_factor: Whether to compute the scale from the rounded new sizes.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Upsample(scale_factor=2)(jnp.array([[[1.0, 2.0]]])))
        [[[1. 1. 2. 2.]]]

    Torch: `torch.nn.Upsample`.
    """

    def __init__(
        self,
        size: Sizes | None = None,
        scale_factor: Scale = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size, self.scale_factor, self.mode = size, scale_factor, mode
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def __call__(self, input: Array) -> Array:
        options = (self.mode, self.align_corners, self.recompute_scale_factor)
        return functional.interpolate(input, self.size, self.scale_factor, *options)


class UpsamplingNearest2d(Upsample):
    """Resize `(N, C, H, W)` by repetition; the arguments are those of `Upsample`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(UpsamplingNearest2d(scale_factor=2)(jnp.ones((1, 1, 2, 2))).shape)
        (1, 1, 4, 4)

    Torch: `torch.nn.UpsamplingNearest2d`.
    """

    def __init__(self, size: Sizes | None = None, scale_factor: Scale = None) -> None:
        super().__init__(size, scale_factor)


class UpsamplingBilinear2d(Upsample):
    """Resize `(N, C, H, W)` linearly with aligned corners; the arguments are those of `Upsample`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(UpsamplingBilinear2d(scale_factor=2)(jnp.ones((1, 1, 2, 2))).shape)
        (1, 1, 4, 4)

    Torch: `torch.nn.UpsamplingBilinear2d`.
    """

    def __init__(self, size: Sizes | None = None, scale_factor: Scale = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)


class PixelShuffle(Layer):
    """Move channels to pixels: `(N, C * r**2, H, W)` becomes `(N, C, H * r, W * r)`.

    Args:
        upscale_factor: The factor r.

    Example:
        >>> import jax.numpy as jnp
        >>> print(PixelShuffle(2)(jnp.ones((1, 4, 3, 3))).shape)
        (1, 1, 6, 6)

    Torch: `torch.nn.PixelShuffle`.
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def __call__(self, input: Array) -> Array:
        return functional.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Layer):
    """Move pixels to channels: `(N, C, H * r, W * r)` becomes `(N, C * r**2, H, W)`.

    Args:
        downscale_factor: The factor r.

    Example:
        >>> import jax.numpy as jnp
        >>> print(PixelUnshuffle(2)(jnp.ones((1, 1, 6, 6))).shape)
        (1, 4, 3, 3)

    Torch: `torch.nn.PixelUnshuffle`.
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def __call__(self, input: Array) -> Array:
        return functional.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(Layer):
    """Interleave groups of channels.

    Args:
        groups: The number of groups.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ChannelShuffle(2)(jnp.arange(4.0).reshape(1, 4, 1)).ravel())
        [0. 2. 1. 3.]

    Torch: `torch.nn.ChannelShuffle`.
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def __call__(self, input: Array) -> Array:
        return functional.channel_shuffle(input, self.groups)
