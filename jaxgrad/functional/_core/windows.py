"""Kernel sizes, strides and paddings: one number or one per spatial dim, with torch's errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import numpy as np

from jaxgrad._core.typing import Array


def window_arguments(
    name: str,
    spatial: int,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    dilation: Sizes = 1,
) -> tuple[tuple[int, ...], ...]:
    """Return a pool's kernel size, stride, padding and dilation for each spatial dim."""
    kernel = at_least(1, "kernel_size", name, sizes(kernel_size, spatial, "kernel_size"))
    steps = kernel
    if stride is not None and not _is_default(stride):
        steps = sizes(stride, spatial, "stride")
    steps = at_least(1, "stride", name, steps)
    pads = at_least(0, "padding", name, sizes(padding, spatial, "padding"))
    dilations = at_least(1, "dilation", name, sizes(dilation, spatial, "dilation"))
    for p, k, d in zip(pads, kernel, dilations, strict=True):
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                f"{name}() padding should be at most half of kernel size: pad should be at most "
                f"half of effective kernel size, but got padding={p}, kernel_size={k} and "
                f"dilation={d}"
            )
    return kernel, steps, pads, dilations


def _is_default(stride: Sizes | None) -> bool:
    """Return whether a pool's stride is its kernel size: None, or an empty list or tuple."""
    return stride is None or (isinstance(stride, list | tuple) and not stride)


def _pooled(n: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> int:
    """Count the windows; with `ceil_mode` the last may extend past the end but not start there."""
    reach = n + 2 * p - d * (k - 1) - 1
    count = (reach + (s - 1 if ceil_mode else 0)) // s + 1
    return count - 1 if ceil_mode and (count - 1) * s >= n + p else count


def out_sizes(
    name: str, x: Array, windows: tuple[tuple[int, ...], ...], ceil_mode: bool
) -> tuple[int, ...]:
    """Return the spatial output sizes of a pool."""
    if not math.prod(x.shape[1:]):
        raise RuntimeError(
            f"{name}() Expected input's non-batch dimensions to have positive length, but input "
            f"has the shape {list(x.shape)}"
        )
    size = x.shape[2:]
    counts = tuple(_pooled(*each, ceil_mode=ceil_mode) for each in zip(size, *windows, strict=True))
    if min(counts) < 1:
        raise RuntimeError(
            f"{name}() Given input size: {list(x.shape)}. Invalid computed output size: "
            f"{list(counts)}. Output size is too small"
        )
    return counts


Sizes = int | Sequence[int]


def sizes(value: Sizes, spatial: int, name: str) -> tuple[int, ...]:
    """Expand one number to `spatial` numbers; any other count of numbers raises a RuntimeError."""
    if isinstance(value, int | np.integer):
        return (int(value),) * spatial
    numbers = whole_numbers(value, name)
    if len(numbers) == 1:
        return numbers * spatial
    if len(numbers) != spatial:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {spatial} values to match "
            f"the dimensions, but got {name}={list(numbers)}"
        )
    return numbers


def whole_numbers(value: Any, name: str) -> tuple[Any, ...]:
    """Return a sequence of ints as a tuple, or raise TypeError; None is returned unchanged."""
    numbers = tuple(value) if isinstance(value, Iterable) else ()
    whole = all(n is None or hasattr(n, "__index__") for n in numbers)
    if isinstance(value, str) or not isinstance(value, Iterable) or not whole:
        raise TypeError(f"{name} must be an int or a tuple of ints, but got {name}={value!r}")
    return numbers


def at_least(least: int, name: str, fun: str, numbers: tuple[int, ...]) -> tuple[int, ...]:
    """Return the numbers, or raise RuntimeError if one is below `least`."""
    if min(numbers) < least:
        bound = "must be greater than zero" if least == 1 else "must not be negative"
        raise RuntimeError(f"{fun}() {name} {bound}, but got {list(numbers)}")
    return numbers


def batched(input: jax.Array, spatial: int, fun: str) -> tuple[jax.Array, bool]:
    """Return the input as `(N, C, ...)`, and whether it already had the batch dim.

    Raises:
        RuntimeError: The input is neither `(N, C, ...)` nor `(C, ...)` with `spatial` other dims.
    """
    if input.ndim not in (spatial + 1, spatial + 2):
        raise RuntimeError(
            f"{fun}: Expected {spatial + 1}D or {spatial + 2}D (batch mode) tensor for input, but "
            f"got: {list(input.shape)}"
        )
    return (input, True) if input.ndim == spatial + 2 else (input[None], False)
