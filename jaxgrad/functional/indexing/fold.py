"""Patches of images as columns, and back: torch's layouts and sizes."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import in_opmath, require_floating
from jaxgrad.functional._core.windows import Sizes, at_least, batched, sizes


def unfold(
    input: Array, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Array:
    """The blocks under a sliding kernel, as columns.

    Args:
        input: `(N, C, H, W)` or `(C, H, W)`.
        kernel_size: Of the blocks.
        dilation: Steps in a block.
        padding: Zeros on both sides.
        stride: Steps of the blocks.

    Returns:
        `(N, C * KH * KW, blocks)`.

    Raises:
        RuntimeError: There is no block, or a size is not possible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(unfold(jnp.arange(3.0).reshape(1, 1, 3), (1, 2)))
        [[0. 1.]
         [1. 2.]]

    Torch: `torch.nn.functional.unfold`.
    """
    x, had_batch = batched(require_floating(input, "unfold", complex=True), 2, "unfold")
    kernel, dilation, padding, stride = _block(kernel_size, dilation, padding, stride)
    rows, columns = _places("unfold", x.shape[2:], kernel, dilation, padding, stride)
    pads = ((0, 0), (0, 0), *((p, p) for p in padding))
    found = jnp.pad(x, pads)[:, :, rows[:, None, :, None], columns[None, :, None, :]]
    found = found.reshape(
        x.shape[0], x.shape[1] * math.prod(kernel), rows[0].size * columns[0].size
    )
    return found if had_batch else found[0]


def fold(
    input: Array,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> Array:
    """The sum of blocks put back in their places: the transpose of `unfold`.

    Args:
        input: `(N, C * KH * KW, blocks)` or without N.
        output_size: `(H, W)`.
        kernel_size: Of the blocks.
        dilation: Steps in a block.
        padding: Zeros that `unfold` added.
        stride: Steps of the blocks.

    Raises:
        RuntimeError: The input has another number of rows or blocks.

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
    rows, columns = _places("fold", size, kernel, dilation, padding, stride)
    blocks = rows[0].size * columns[0].size
    if x.shape[2] != blocks:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, "
            f"padding={padding}, stride={stride}, expected size of input's dimension 2 to match "
            f"the calculated number of sliding blocks {blocks}, but got {x.shape[2]}."
        )
    channels = x.shape[1] // math.prod(kernel)
    parts = x.reshape(x.shape[0], channels, *kernel, rows[0].size, columns[0].size)
    padded = [n + 2 * p for n, p in zip(size, padding, strict=True)]

    def summed(parts: Array) -> Array:
        total = jnp.zeros((x.shape[0], channels, *padded), parts.dtype)
        total = total.at[:, :, rows[:, None, :, None], columns[None, :, None, :]].add(parts)
        top, left = padding
        return total[:, :, top : top + size[0], left : left + size[1]]

    found = in_opmath(summed, parts)
    return found if had_batch else found[0]


def _block(kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes):
    kernel = at_least(1, "kernel_size", "unfold", sizes(kernel_size, 2, "kernel_size"))
    dilations = at_least(1, "dilation", "unfold", sizes(dilation, 2, "dilation"))
    paddings = at_least(0, "padding", "unfold", sizes(padding, 2, "padding"))
    return kernel, dilations, paddings, at_least(1, "stride", "unfold", sizes(stride, 2, "stride"))


def _places(name, size, kernel, dilation, padding, stride) -> list[np.ndarray]:
    """For each dim the places in the padded input: `(kernel, blocks)`."""
    found = []
    for n, k, d, p, s in zip(size, kernel, dilation, padding, stride, strict=True):
        blocks = (n + 2 * p - d * (k - 1) - 1) // s + 1
        if blocks < 1:
            raise RuntimeError(
                f"{name}: Given input with spatial size {tuple(size)}, kernel_size={kernel}, "
                f"dilation={dilation}, padding={padding}, the number of sliding blocks must be at "
                "least one"
            )
        found.append(np.arange(k)[:, None] * d + np.arange(blocks) * s)
    return found
