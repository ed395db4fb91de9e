"""Pools: torch's windows, ties, NaN and divisors.

A maximum goes to the first of equal values in its window, to the last of several NaN. The gradient
is that of the element, as a pool that returns its indices has it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ._arguments import array, floats, in_opmath, require
from ._rule import derivative
from ._windows import Sizes, at_least, batched, sizes
from .pointwise import abs as _abs
from .pointwise import pow as _pow


Array = jax.Array


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


def avg_pool1d(
    input: Array,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Array:
    """The mean of each window.

    Args:
        input: `(N, C, L)` or `(C, L)`.
        kernel_size: Of the windows.
        stride: Steps of the windows. None: `kernel_size`.
        padding: Zeros on both sides, at most half a kernel.
        ceil_mode: Also the window that reaches over the end; what is beyond the padding does not
            count.
        count_include_pad: The padding counts.

    Raises:
        RuntimeError: A size is not possible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(avg_pool1d(jnp.array([[2.0, 4.0, 6.0]]), 2, ceil_mode=True))
        [[3. 6.]]

    Torch: `torch.nn.functional.avg_pool1d`.

    Differs from jax in:
        1. With `ceil_mode` the last window is divided by what it covers (padding by hand: by the
           kernel).
    """
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Array,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """The mean of each window of `(N, C, H, W)`, or its sum over `divisor_override`.

    Raises:
        RuntimeError: A size is not possible, or the divisor is 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(avg_pool2d(jnp.arange(4.0).reshape(1, 2, 2), 2))
        [[[1.5]]]

    Torch: `torch.nn.functional.avg_pool2d`.
    """
    return _avg_pool(
        2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool3d(
    input: Array,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """The mean of each window of `(N, C, D, H, W)`, or its sum over `divisor_override`.

    Raises:
        RuntimeError: A size is not possible, or the divisor is 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(avg_pool3d(jnp.arange(8.0).reshape(1, 2, 2, 2), 2).ravel())
        [3.5]

    Torch: `torch.nn.functional.avg_pool3d`.
    """
    return _avg_pool(
        3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def lp_pool1d(
    input: Array,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Array:
    """The p-th root of the sum of p-th powers of each window of `(N, C, L)`, 0 if it is negative.

    Raises:
        RuntimeError: A size is not possible.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(lambda x: lp_pool1d(x, 2, 2).sum())(jnp.zeros((1, 2))))
        [[0. 0.]]

    Torch: `torch.nn.functional.lp_pool1d`.

    Differs from jax in:
        1. A window of zeros has gradient 0 (`(x**p).sum() ** (1 / p)`: NaN).
    """
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Array,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Array:
    """`lp_pool1d` of `(N, C, H, W)`.

    Raises:
        RuntimeError: A size is not possible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(lp_pool2d(jnp.ones((1, 2, 2)), 2, 2))
        [[[2.]]]

    Torch: `torch.nn.functional.lp_pool2d`.
    """
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Array,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Array:
    """`lp_pool1d` of `(N, C, D, H, W)`.

    Raises:
        RuntimeError: A size is not possible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(lp_pool3d(jnp.ones((1, 2, 2, 2)), 1, 2).ravel())
        [8.]

    Torch: `torch.nn.functional.lp_pool3d`.
    """
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


def max_unpool1d(
    input: Array,
    indices: Array,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Array:
    """The values at the indices that `max_pool1d` returned, zeros elsewhere.

    Args:
        input: `(N, C, L)` or `(C, L)`.
        indices: Of the input's shape.
        kernel_size: That of the pool.
        stride: That of the pool.
        padding: That of the pool.
        output_size: The size before the pool, where several have the same result.

    Raises:
        RuntimeError: An index is out of range, or there are more or less than values.
        ValueError: `output_size` is not possible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(max_unpool1d(jnp.array([[5.0, 6.0]]), jnp.array([[1, 2]]), 2))
        [[0. 5. 6. 0.]]

    Torch: `torch.nn.functional.max_unpool1d`.

    Differs from jax in:
        1. Of values with the same index the last is written and each has the gradient
           (`.at[].set`: the last alone).
    """
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Array,
    indices: Array,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Array:
    """`max_unpool1d` of `(N, C, H, W)`.

    Raises:
        RuntimeError: An index is out of range, or there are more or less than values.
        ValueError: `output_size` is not possible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(max_unpool2d(jnp.ones((1, 1, 1)), jnp.array([[[2]]]), 2)[0])
        [[0. 0.]
         [1. 0.]]

    Torch: `torch.nn.functional.max_unpool2d`.
    """
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Array,
    indices: Array,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Array:
    """`max_unpool1d` of `(N, C, D, H, W)`.

    Raises:
        RuntimeError: An index is out of range, or there are more or less than values.
        ValueError: `output_size` is not possible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(max_unpool3d(jnp.ones((1, 1, 1, 1)), jnp.array([[[[2]]]]), 2).ravel())
        [0. 0. 1. 0. 0. 0. 0. 0.]

    Torch: `torch.nn.functional.max_unpool3d`.
    """
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)


def _windows(
    name: str,
    places: int,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    dilation: Sizes = 1,
) -> tuple[tuple[int, ...], ...]:
    kernel = at_least(1, "kernel_size", name, sizes(kernel_size, places, "kernel_size"))
    steps = kernel if stride is None or stride == [] else sizes(stride, places, "stride")
    steps = at_least(1, "stride", name, steps)
    pads = at_least(0, "padding", name, sizes(padding, places, "padding"))
    dilations = at_least(1, "dilation", name, sizes(dilation, places, "dilation"))
    for p, k, d in zip(pads, kernel, dilations, strict=True):
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                f"{name}() padding should be at most half of kernel size: pad should be at most "
                f"half of effective kernel size, but got padding={p}, kernel_size={k} and "
                f"dilation={d}"
            )
    return kernel, steps, pads, dilations


def _pooled(n: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> int:
    """How many windows: with `ceil_mode` one may reach over the end, but not begin after it."""
    reach = n + 2 * p - d * (k - 1) - 1
    count = (reach + (s - 1 if ceil_mode else 0)) // s + 1
    return count - 1 if ceil_mode and (count - 1) * s >= n + p else count


def _out_sizes(
    name: str, x: Array, windows: tuple[tuple[int, ...], ...], ceil_mode: bool
) -> tuple[int, ...]:
    size = x.shape[2:]
    found = tuple(_pooled(*each, ceil_mode=ceil_mode) for each in zip(size, *windows, strict=True))
    if min(found) < 1:
        raise RuntimeError(
            f"{name}() Given input size: {list(x.shape)}. Invalid computed output size: "
            f"{list(found)}. Output size is too small"
        )
    return found


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
    windows = _windows(name, places, kernel_size, stride, padding, dilation)
    x, had_batch = batched(floats(input, name), places, name)
    out = _out_sizes(name, x, windows, ceil_mode)
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


def _avg_pool(
    places: int,
    input: Array,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Array:
    name = f"avg_pool{places}d"
    windows = _windows(name, places, kernel_size, stride, padding)
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    x, had_batch = batched(array(input), places, name)
    out = _out_sizes(name, x, windows, ceil_mode)
    kernel, steps, pads, _ = windows
    ends, counts = [], np.ones((), np.int64)
    for n, k, s, p, o in zip(x.shape[2:], kernel, steps, pads, out, strict=True):
        begin = np.arange(o) * s - p
        low, high = (-p, n + p) if count_include_pad else (0, n)
        covered = np.minimum(begin + k, high) - np.maximum(begin, low)
        counts = counts[..., None] * covered
        ends.append(max((o - 1) * s + k - n - p, 0))

    def averaged(x: Array) -> Array:
        total = jax.lax.reduce_window(
            x,
            np.zeros((), x.dtype),
            jax.lax.add,
            (1, 1, *kernel),
            (1, 1, *steps),
            ((0, 0), (0, 0), *zip(pads, ends, strict=True)),
        )
        total = total[(slice(None), slice(None), *(slice(o) for o in out))]
        return total / jnp.asarray(counts if divisor is None else divisor, x.dtype)

    y = in_opmath(averaged, x)
    return y if had_batch else y[0]


def _lp_pool(
    places: int,
    input: Array,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None,
    ceil_mode: bool,
) -> Array:
    input = array(input)
    if math.isinf(norm_type):
        sign = 1 if norm_type > 0 else -1
        found = _max_pool(places, sign * _abs(input), kernel_size, stride, 0, 1, ceil_mode, False)
        assert isinstance(found, jax.Array)
        return sign * found
    powers = _pow(input, norm_type)
    mean = _avg_pool(places, powers, kernel_size, stride, 0, ceil_mode, True, None)
    count = math.prod(sizes(kernel_size, places, "kernel_size"))
    return in_opmath(_root, mean, count=count, p=norm_type)


def _root_tangent(t: Array, _: Array, y: Array, *, count: int, p: float) -> Array:
    safe = jnp.where(y == 0, 1, y)  # the second derivative at 0 is 0 too
    return jnp.where(y == 0, 0, t) * jnp.where(
        y == 0, 0, jnp.power(count * safe, 1 / p - 1) * (count / p)
    )


@derivative(_root_tangent)
def _root(y: Array, *, count: int, p: float) -> Array:
    return jnp.power(count * y, 1 / p)


def _max_unpool(
    places: int,
    input: Array,
    indices: Array,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    output_size: Sequence[int] | None,
) -> Array:
    name = f"max_unpool{places}d"
    kernel = sizes(kernel_size, places, "kernel_size")
    steps = kernel if stride is None or stride == [] else sizes(stride, places, "stride")
    pads = sizes(padding, places, "padding")
    x, had_batch = batched(array(input), places, name)
    indices = array(indices, "indices")
    if not jnp.issubdtype(indices.dtype, jnp.integer):
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype}")
    if indices.shape != input.shape:
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({list(input.shape)}) but got indices tensor with shape: {list(indices.shape)}"
        )
    usual = [
        (n - 1) * s + k - 2 * p for n, s, k, p in zip(x.shape[2:], steps, kernel, pads, strict=True)
    ]
    size = usual if output_size is None else list(output_size)[-places:]
    if output_size is not None and len(output_size) not in (places, places + 2):
        raise ValueError(
            f"output_size should be a sequence containing {places} or {places + 2} elements, but "
            f"it has a length of '{len(output_size)}'"
        )
    for d, (have, default, s) in enumerate(zip(size, usual, steps, strict=True)):
        if not default - s < have < default + s:
            raise ValueError(
                f'invalid output_size "{size}" (dim {d} must be between {default - s} and '
                f"{default + s})"
            )
    total = math.prod(size)
    if indices.size:
        require(
            jnp.all((indices >= 0) & (indices < total)),
            RuntimeError(f"Found an invalid max index: the output volume has the size {size}"),
        )
    found = _placed(
        x.reshape(*x.shape[:2], -1), index=indices.reshape(*x.shape[:2], -1), size=total
    )
    found = found.reshape(*x.shape[:2], *size)
    return found if had_batch else found[0]


def _zeros_and_rows(x: Array, size: int) -> tuple[Array, Any]:
    rows = np.arange(x.shape[0])[:, None, None], np.arange(x.shape[1])[None, :, None]
    return jnp.zeros((*x.shape[:2], size), x.dtype), rows


def _placed_tangent(t: Array, *_: Array, index: Array, size: int) -> Array:
    zeros, rows = _zeros_and_rows(t, size)
    return zeros.at[(*rows, index)].add(t)


@derivative(_placed_tangent)
def _placed(x: Array, *, index: Array, size: int) -> Array:
    zeros, rows = _zeros_and_rows(x, size)
    return zeros.at[(*rows, index)].set(x)
