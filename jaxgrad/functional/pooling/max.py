"""Max pooling, with torch's windows and its choice among equal values and NaN.

The maximum of a window is the first of equal values, or the last of several NaN. The gradient goes
to that element alone.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, overload

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import require_floating
from jaxgrad.functional._core.windows import Sizes, batched, out_sizes, window_arguments


class MaxPool(NamedTuple):
    """Maxima and their indices into the flattened spatial dims."""

    output: Array
    indices: Array


@overload
def max_pool1d(
    input: Array,
    kernel_size: Sizes,
    stride: Sizes | None = ...,
    padding: Sizes = ...,
    dilation: Sizes = ...,
    ceil_mode: bool = ...,
    return_indices: Literal[False] = ...,
) -> Array: ...
@overload
def max_pool1d(
    input: Array,
    kernel_size: Sizes,
    stride: Sizes | None = ...,
    padding: Sizes = ...,
    dilation: Sizes = ...,
    ceil_mode: bool = ...,
    *,
    return_indices: Literal[True],
) -> MaxPool: ...


def max_pool1d(
    input: Array,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Array | MaxPool:
    """Maximum over each window of the last dim.

    Args:
        input: Signal, `(N, C, L)` or `(C, L)`.
        kernel_size: Number of elements in a window.
        stride: Step from one window to the next; None means `kernel_size`.
        padding: Number of -inf values on each side, at most half of `kernel_size`.
        dilation: Step between the elements of a window.
        ceil_mode: Whether to add a last window that extends past the padded input.
        return_indices: Whether to also return the flat index of each maximum.

    Raises:
        RuntimeError: A size is invalid, or the output would be empty.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(lambda x: max_pool1d(x, 2).sum())(jnp.ones((1, 4))))
        [[1. 0. 1. 0.]]

    Torch: `torch.nn.functional.max_pool1d`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The gradient goes to the first of equal values (a reshape and `jnp.max`: it is divided
           among them).
        2. The gradient of a window with NaN goes to the last NaN (`lax.reduce_window`: to a
           different element).
        3. The gradient of a maximum of -inf next to padding is kept (`lax.reduce_window`: it is
           lost), and dilated windows have a gradient (`lax.reduce_window`: raises).
    """
    return max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@overload
def max_pool2d(
    input: Array,
    kernel_size: Sizes,
    stride: Sizes | None = ...,
    padding: Sizes = ...,
    dilation: Sizes = ...,
    ceil_mode: bool = ...,
    return_indices: Literal[False] = ...,
) -> Array: ...
@overload
def max_pool2d(
    input: Array,
    kernel_size: Sizes,
    stride: Sizes | None = ...,
    padding: Sizes = ...,
    dilation: Sizes = ...,
    ceil_mode: bool = ...,
    *,
    return_indices: Literal[True],
) -> MaxPool: ...


def max_pool2d(
    input: Array,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Array | MaxPool:
    """Maximum over each window of `(N, C, H, W)`, with the arguments and errors of `max_pool1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(max_pool2d(jnp.arange(4.0).reshape(1, 2, 2), 2))
        [[[3.]]]

    Torch: `torch.nn.functional.max_pool2d`. Gradient conventions: docs/operators.md.
    """
    return max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@overload
def max_pool3d(
    input: Array,
    kernel_size: Sizes,
    stride: Sizes | None = ...,
    padding: Sizes = ...,
    dilation: Sizes = ...,
    ceil_mode: bool = ...,
    return_indices: Literal[False] = ...,
) -> Array: ...
@overload
def max_pool3d(
    input: Array,
    kernel_size: Sizes,
    stride: Sizes | None = ...,
    padding: Sizes = ...,
    dilation: Sizes = ...,
    ceil_mode: bool = ...,
    *,
    return_indices: Literal[True],
) -> MaxPool: ...


def max_pool3d(
    input: Array,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Array | MaxPool:
    """Maximum over each window of `(N, C, D, H, W)`, with the arguments and errors of `max_pool1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(max_pool3d(jnp.arange(8.0).reshape(1, 2, 2, 2), 2).ravel())
        [7.]

    Torch: `torch.nn.functional.max_pool3d`.
    """
    return max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool(
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
    pairs = jax.lax.stop_gradient(x), index
    initial = (np.asarray(-jnp.inf, x.dtype), np.asarray(jnp.iinfo(jnp.int32).max, np.int32))
    widths = ((0, 0), (0, 0), *zip(pads, ends, strict=True))
    _, chosen = jax.lax.reduce_window(
        pairs, initial, _first_of_largest, (1, 1, *kernel), (1, 1, *steps), widths,
        window_dilation=(1, 1, *dilations),
    )  # fmt: skip
    chosen = chosen[(slice(None), slice(None), *(slice(o) for o in out))]
    return take_maxima(x, chosen, had_batch, return_indices)


def _first_of_largest(one: Any, two: Any) -> Any:
    """Return the later NaN of two (value, index) pairs, else the larger, else the earlier."""
    (x, i), (y, j) = one, two
    # The later of the two wins only if it is larger or NaN.
    second = jnp.where(j > i, (y > x) | (y != y), ~((x > y) | (x != x)))  # noqa: PLR0124
    return jnp.where(second, y, x), jnp.where(second, j, i)


def take_maxima(x: Array, index: Array, had_batch: bool, return_indices: bool) -> Array | MaxPool:
    """Gather the elements at these flat indices, so that the gradient goes to them alone."""
    flat = x.reshape(*x.shape[:2], math.prod(x.shape[2:]))
    at = index.reshape(*x.shape[:2], math.prod(index.shape[2:]))
    output = jnp.take_along_axis(flat, at, 2).reshape(index.shape)
    if not had_batch:
        output, index = output[0], index[0]
    indices = index.astype(jax.dtypes.canonicalize_dtype(jnp.int64))
    return MaxPool(output, indices) if return_indices else output
