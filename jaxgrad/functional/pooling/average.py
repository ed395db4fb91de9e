"""Average pooling, with torch's windows and divisors."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional._core.windows import Sizes, batched, out_sizes, window_arguments


def avg_pool1d(
    input: Array,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Array:
    """Average over each window of the last dim.

    Args:
        input: Signal, `(N, C, L)` or `(C, L)`.
        kernel_size: Size of the window.
        stride: Step from one window to the next; None means `kernel_size`.
        padding: Number of zeros on each side, at most half of `kernel_size`.
        ceil_mode: Whether to add a last window that extends past the padded input; the elements
            that it covers beyond the padding are not counted in its divisor.
        count_include_pad: Whether the divisor counts the padding.

    Raises:
        RuntimeError: A size is invalid, or the output would be empty.

    Example:
        >>> import jax.numpy as jnp
        >>> print(avg_pool1d(jnp.array([[2.0, 4.0, 6.0]]), 2, ceil_mode=True))
        [[3. 6.]]

    Torch: `torch.nn.functional.avg_pool1d`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. With `ceil_mode` the last window is divided by the number of elements that it covers
           (`lax.reduce_window` over padded input: by `kernel_size`).
    """
    return average_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Array,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """Average over each window of `(N, C, H, W)`, or its sum divided by `divisor_override`.

    Raises:
        RuntimeError: A size is invalid, the output would be empty, or the divisor is 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(avg_pool2d(jnp.arange(4.0).reshape(1, 2, 2), 2))
        [[[1.5]]]

    Torch: `torch.nn.functional.avg_pool2d`.
    """
    return average_pool(
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
    """Average over each window of `(N, C, D, H, W)`, with the arguments and errors of `avg_pool2d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(avg_pool3d(jnp.arange(8.0).reshape(1, 2, 2, 2), 2).ravel())
        [3.5]

    Torch: `torch.nn.functional.avg_pool3d`.
    """
    return average_pool(
        3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def average_pool(
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
    reject(name, "bool complex", input)
    windows = window_arguments(name, places, kernel_size, stride, padding)
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    x, had_batch = batched(array(input), places, name)
    out = out_sizes(name, x, windows, ceil_mode)
    kernel, steps, pads, _ = windows
    ends, counts = [], np.ones((), np.int64)
    for n, k, s, p, o in zip(x.shape[2:], kernel, steps, pads, out, strict=True):
        begin = np.arange(o) * s - p
        low, high = (-p, n + p) if count_include_pad else (0, n)
        covered = np.minimum(begin + k, high) - np.maximum(begin, low)
        counts = counts[..., None] * covered
        ends.append(max((o - 1) * s + k - n - p, 0))

    def averaged(x: Array) -> Array:
        zero, widths = np.zeros((), x.dtype), ((0, 0), (0, 0), *zip(pads, ends, strict=True))
        total = jax.lax.reduce_window(x, zero, jax.lax.add, (1, 1, *kernel), (1, 1, *steps), widths)
        total = total[(slice(None), slice(None), *(slice(o) for o in out))]
        return total / jnp.asarray(counts if divisor is None else divisor, x.dtype)

    y = in_opmath(averaged, x)
    return y if had_batch else y[0]
