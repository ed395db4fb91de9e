"""Extracting image patches as columns and summing them back, with torch's layouts."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import in_opmath, require_floating
from jaxgrad.functional._core.windows import Sizes, at_least, batched, sizes


Pair = tuple[int, ...]  # one number for the height, one for the width


def unfold(
    input: Array, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Array:
    """Extract the blocks under a sliding kernel as columns.

    Args:
        input: `(N, C, H, W)` or `(C, H, W)`.
        kernel_size: Size of the blocks.
        dilation: Spacing between the elements of a block.
        padding: Number of zeros to add on both sides.
        stride: Step between blocks.

    Returns:
        `(N, C * KH * KW, blocks)`.

    Raises:
        RuntimeError: The input is smaller than a block, or an option is out of range.

    Example:
        >>> import jax.numpy as jnp
        >>> print(unfold(jnp.arange(3.0).reshape(1, 1, 3), (1, 2)))
        [[0. 1.]
         [1. 2.]]

    Torch: `torch.nn.functional.unfold`.
    """
    x, had_batch = batched(require_floating(input, "unfold", complex=True), 2, "unfold")
    kernel, dilation, padding, stride = _block(kernel_size, dilation, padding, stride)
    rows, columns = _block_positions("unfold", x.shape[2:], kernel, dilation, padding, stride)
    pads = ((0, 0), (0, 0), *((p, p) for p in padding))
    blocks = jnp.pad(x, pads)[:, :, rows[:, None, :, None], columns[None, :, None, :]]
    shape = (x.shape[0], x.shape[1] * math.prod(kernel), rows[0].size * columns[0].size)
    return blocks.reshape(shape) if had_batch else blocks.reshape(shape)[0]


def fold(
    input: Array,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> Array:
    """Sum blocks at their positions in an image: the transpose of `unfold`.

    Args:
        input: `(N, C * KH * KW, blocks)` or `(C * KH * KW, blocks)`.
        output_size: `(H, W)`.
        kernel_size: Size of the blocks.
        dilation: Spacing between the elements of a block.
        padding: Number of zeros that `unfold` added on both sides.
        stride: Step between blocks.

    Raises:
        RuntimeError: The input's shape does not match the sizes, or an option is out of range.

    Example:
        >>> import jax.numpy as jnp
        >>> print(fold(jnp.ones((2, 2)), (1, 3), (1, 2))[0])
        [[1. 2. 1.]]

    Torch: `torch.nn.functional.fold`.
    """
    x, had_batch = batched(require_floating(input, "fold", complex=True), 1, "fold")
    size = sizes(output_size, 2, "output_size")
    kernel, dilation, padding, stride = _block(kernel_size, dilation, padding, stride)
    if x.shape[1] % math.prod(kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={x.shape[1]} and kernel_size={kernel}."
        )
    rows, columns = _block_positions("fold", size, kernel, dilation, padding, stride)
    blocks = rows[0].size * columns[0].size
    if x.shape[2] != blocks:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, "
            f"padding={padding}, stride={stride}, expected size of input's dimension 2 to match "
            f"the calculated number of sliding blocks {blocks}, but got {x.shape[2]}."
        )
    channels = x.shape[1] // math.prod(kernel)
    patches = x.reshape(x.shape[0], channels, *kernel, rows[0].size, columns[0].size)
    padded = [n + 2 * p for n, p in zip(size, padding, strict=True)]

    def summed(patches: Array) -> Array:
        total = jnp.zeros((x.shape[0], channels, *padded), patches.dtype)
        total = total.at[:, :, rows[:, None, :, None], columns[None, :, None, :]].add(patches)
        top, left = padding
        return total[:, :, top : top + size[0], left : left + size[1]]

    image = in_opmath(summed, patches)
    return image if had_batch else image[0]


def _block(kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> list[Pair]:
    names, least = ("kernel_size", "dilation", "padding", "stride"), (1, 1, 0, 1)
    options = zip(least, names, (kernel_size, dilation, padding, stride), strict=True)
    return [at_least(low, name, "unfold", sizes(value, 2, name)) for low, name, value in options]


def _block_positions(
    name: str, size: Pair, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair
) -> list[np.ndarray]:
    """Return `(kernel, blocks)` positions of block elements in the padded input, for each dim."""
    positions = []
    for n, k, d, p, s in zip(size, kernel, dilation, padding, stride, strict=True):
        blocks = (n + 2 * p - d * (k - 1) - 1) // s + 1
        if blocks < 1:
            raise RuntimeError(
                f"{name}: Given input with spatial size {tuple(size)}, kernel_size={kernel}, "
                f"dilation={dilation}, padding={padding}, the number of sliding blocks must be at "
                "least one"
            )
        positions.append(np.arange(k)[:, None] * d + np.arange(blocks) * s)
    return positions
