"""Moving pixels into channels and back, and shuffling channels, in torch's order."""

from __future__ import annotations

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array


def pixel_shuffle(input: Array, upscale_factor: int) -> Array:
    """Move channels to pixels: `(*, C r r, H, W)` becomes `(*, C, H r, W r)`.

    Raises:
        RuntimeError: The channels are not divisible by `r * r`, or there are fewer than three dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(pixel_shuffle(jnp.arange(4.0).reshape(4, 1, 1), 2)[0])
        [[0. 1.]
         [2. 3.]]

    Torch: `torch.nn.functional.pixel_shuffle`.
    """
    x, r = _check_dims("pixel_shuffle", input), upscale_factor
    *batch, channels, height, width = x.shape
    if r < 1:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}"
        )
    parts = x.reshape(*batch, channels // (r * r), r, r, height, width)
    n = len(batch)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return parts.transpose(order).reshape(*batch, channels // (r * r), height * r, width * r)


def pixel_unshuffle(input: Array, downscale_factor: int) -> Array:
    """Move pixels to channels: `(*, C, H r, W r)` becomes `(*, C r r, H, W)`.

    Raises:
        RuntimeError: A spatial size is not divisible by r, or there are fewer than three dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(pixel_unshuffle(jnp.arange(4.0).reshape(1, 2, 2), 2).ravel())
        [0. 1. 2. 3.]

    Torch: `torch.nn.functional.pixel_unshuffle`.
    """
    x, r = _check_dims("pixel_unshuffle", input), downscale_factor
    *batch, channels, height, width = x.shape
    if r < 1:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    if height % r or width % r:
        raise RuntimeError(
            f"pixel_unshuffle expects height and width to be divisible by downscale_factor, but "
            f"they are {height} and {width}, and it is {r}"
        )
    parts = x.reshape(*batch, channels, height // r, r, width // r, r)
    n = len(batch)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return parts.transpose(order).reshape(*batch, channels * r * r, height // r, width // r)


def channel_shuffle(input: Array, groups: int) -> Array:
    """Interleave channel groups: the first channel of each, then the second of each, and so on.

    Raises:
        RuntimeError: `groups` does not divide the channels, or there are fewer than three dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(channel_shuffle(jnp.arange(4.0).reshape(1, 4, 1), 2).ravel())
        [0. 2. 1. 3.]

    Torch: `torch.nn.functional.channel_shuffle`.
    """
    x = array(input)
    if x.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got {list(x.shape)}")
    if groups < 1 or x.shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {x.shape[1]} channels and "
            f"{groups} groups."
        )
    parts = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    return jnp.swapaxes(parts, 1, 2).reshape(x.shape)


def _check_dims(name: str, input: Array) -> Array:
    x = array(input)
    if x.ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {x.ndim} "
            "dimension(s)"
        )
    return x
