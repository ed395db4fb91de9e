"""Maximum pools: torch's windows, ties and NaN.

A maximum goes to the first of equal values in its window, to the last of several NaN. The gradient
is that of the element, as a pool that returns its indices has it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import require_floating
from jaxgrad.functional._core.windows import Sizes, batched, out_sizes, window_arguments


class MaxPool(NamedTuple):
    """The maxima, and where each was: its index in the flattened spatial dims."""

    output: Array
    indices: Array


def max_pool1d(
    input: Array,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Array | MaxPool:
    """The maximum of each window.

    Args:
        input: `(N, C, L)` or `(C, L)`.
        kernel_size: Of the windows.
        stride: Steps of the windows. None: `kernel_size`.
        padding: Minus infinities on both sides, at most half a kernel.
        dilation: Steps in a window.
        ceil_mode: Also the window that reaches over the end.
        return_indices: Also where each maximum was.

    Raises:
        RuntimeError: A size is not possible.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(lambda x: max_pool1d(x, 2).sum())(jnp.ones((1, 4))))
        [[1. 0. 1. 0.]]

    Gradient conventions: docs/operators.md.
    Torch: `torch.nn.functional.max_pool1d`.

    Differs from jax in:
        1. Of equal values the first has the gradient (a reshape and `jnp.max`: each a share).
        2. A window with a NaN gives its gradient to the last NaN (`lax.reduce_window`: to another
           element).
        3. The maximum -inf beside padding has a gradient (`lax.reduce_window`: none), and so have
           dilated windows (`lax.reduce_window`: raises).
    """
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Array,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Array | MaxPool:
    """The maximum of each window of `(N, C, H, W)`; as `max_pool1d`.

    Raises:
        RuntimeError: A size is not possible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(max_pool2d(jnp.arange(4.0).reshape(1, 2, 2), 2))
        [[[3.]]]

    Gradient conventions: docs/operators.md.
    Torch: `torch.nn.functional.max_pool2d`.
    """
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    input: Array,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Array | MaxPool:
    """The maximum of each window of `(N, C, D, H, W)`; as `max_pool1d`.

    Raises:
        RuntimeError: A size is not possible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(max_pool3d(jnp.arange(8.0).reshape(1, 2, 2, 2), 2).ravel())
        [7.]

    Torch: `torch.nn.functional.max_pool3d`.
    """
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _max_pool(
    places: int,
    input: Array,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
    return_indices: bool,
) -> Array | MaxPool:
    name = f"max_pool{places}d"
    windows = window_arguments(name, places, kernel_size, stride, padding, dilation)
    x, had_batch = batched(require_floating(input, name), places, name)
    out = out_sizes(name, x, windows, ceil_mode)
    kernel, steps, pads, dilations = windows
    ends = [
        max((o - 1) * s + d * (k - 1) + 1 - n - p, 0)
        for o, s, d, k, n, p in zip(out, steps, dilations, kernel, x.shape[2:], pads, strict=True)
    ]
    index = jax.lax.broadcasted_iota(jnp.int32, (math.prod(x.shape[2:]),), 0)
    index = jnp.broadcast_to(index.reshape(x.shape[2:]), x.shape)
    least = (np.asarray(-jnp.inf, x.dtype), np.asarray(jnp.iinfo(jnp.int32).max, np.int32))
    _, found = jax.lax.reduce_window(
        (jax.lax.stop_gradient(x), index),
        least,
        _first_of_largest,
        (1, 1, *kernel),
        (1, 1, *steps),
        ((0, 0), (0, 0), *zip(pads, ends, strict=True)),
        window_dilation=(1, 1, *dilations),
    )
    found = found[(slice(None), slice(None), *(slice(o) for o in out))]
    return _taken(x, found, had_batch, return_indices)


def _first_of_largest(one: Any, two: Any) -> Any:
    """Of two (value, index): the later NaN, else the larger, else the earlier."""
    (x, i), (y, j) = one, two
    nan_x, nan_y = jnp.isnan(x), jnp.isnan(y)
    both = jnp.where(nan_x & nan_y, j > i, (y > x) | ((y == x) & (j < i)))
    second = jnp.where(nan_x == nan_y, both, nan_y)
    return jnp.where(second, y, x), jnp.where(second, j, i)


def _taken(x: Array, found: Array, had_batch: bool, return_indices: bool) -> Array | MaxPool:
    """The elements at these flat indices: a gather, whose gradient goes to them."""
    flat = x.reshape(*x.shape[:2], math.prod(x.shape[2:]))
    at = found.reshape(*x.shape[:2], math.prod(found.shape[2:]))
    output = jnp.take_along_axis(flat, at, 2).reshape(found.shape)
    if not had_batch:
        output, found = output[0], found[0]
    indices = found.astype(jax.dtypes.canonicalize_dtype(jnp.int64))
    return MaxPool(output, indices) if return_indices else output
