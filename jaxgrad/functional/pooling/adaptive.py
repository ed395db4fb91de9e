"""Adaptive pools: windows that divide any size into any number of bins, as torch divides it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.adaptive_bins import (
    OutputSize,
    adaptive_average,
    bin_arguments,
    bins,
)
from jaxgrad.functional._core.arguments import require_floating
from jaxgrad.functional.pooling.max import MaxPool, _taken


def adaptive_avg_pool1d(input: Array, output_size: OutputSize) -> Array:
    """The means of `output_size` bins.

    Args:
        input: `(N, C, L)` or `(C, L)`.
        output_size: How many. Bin i is from `floor(i L / n)` to before `ceil((i + 1) L / n)`.

    Raises:
        RuntimeError: The size is negative, or the input is empty.

    Example:
        >>> import jax.numpy as jnp
        >>> print(adaptive_avg_pool1d(jnp.arange(5.0)[None], 3))
        [[0.5 2.  3.5]]

    Gradient conventions: docs/operators.md.
    Torch: `torch.nn.functional.adaptive_avg_pool1d`.

    Differs from jax in:
        1. Neighbouring bins overlap where the size does not divide (`jax.image.resize`: weights).
    """
    return adaptive_average(1, input, output_size)


def adaptive_avg_pool2d(input: Array, output_size: OutputSize) -> Array:
    """The means of `(H, W)` bins of `(N, C, H, W)`; None keeps a size.

    Raises:
        RuntimeError: The size is negative, or the input is empty.

    Example:
        >>> import jax.numpy as jnp
        >>> print(adaptive_avg_pool2d(jnp.arange(4.0).reshape(1, 2, 2), (None, 1))[0])
        [[0.5]
         [2.5]]

    Torch: `torch.nn.functional.adaptive_avg_pool2d`.
    """
    return adaptive_average(2, input, output_size)


def adaptive_avg_pool3d(input: Array, output_size: OutputSize) -> Array:
    """The means of `(D, H, W)` bins of `(N, C, D, H, W)`; None keeps a size.

    Raises:
        RuntimeError: The size is negative, or the input is empty.

    Example:
        >>> import jax.numpy as jnp
        >>> print(adaptive_avg_pool3d(jnp.arange(8.0).reshape(1, 2, 2, 2), 1).ravel())
        [3.5]

    Torch: `torch.nn.functional.adaptive_avg_pool3d`.
    """
    return adaptive_average(3, input, output_size)


def adaptive_max_pool1d(
    input: Array, output_size: OutputSize, return_indices: bool = False
) -> Array | MaxPool:
    """The maxima of `output_size` bins of `(N, C, L)` or `(C, L)`.

    Raises:
        RuntimeError: The size is negative, or the input is empty.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(lambda x: adaptive_max_pool1d(x, 1).sum())(jnp.ones((1, 3))))
        [[1. 0. 0.]]

    Gradient conventions: docs/operators.md.
    Torch: `torch.nn.functional.adaptive_max_pool1d`.

    Differs from jax in:
        1. Of equal values the first has the gradient, of several NaN the last (`jnp.max`: each a
           share, all NaN).
    """
    return _adaptive_max(1, input, output_size, return_indices)


def adaptive_max_pool2d(
    input: Array, output_size: OutputSize, return_indices: bool = False
) -> Array | MaxPool:
    """The maxima of `(H, W)` bins of `(N, C, H, W)`; None keeps a size.

    Raises:
        RuntimeError: The size is negative, or the input is empty.

    Example:
        >>> import jax.numpy as jnp
        >>> print(adaptive_max_pool2d(jnp.arange(4.0).reshape(1, 2, 2), 1))
        [[[3.]]]

    Torch: `torch.nn.functional.adaptive_max_pool2d`.
    """
    return _adaptive_max(2, input, output_size, return_indices)


def adaptive_max_pool3d(
    input: Array, output_size: OutputSize, return_indices: bool = False
) -> Array | MaxPool:
    """The maxima of `(D, H, W)` bins of `(N, C, D, H, W)`; None keeps a size.

    Raises:
        RuntimeError: The size is negative, or the input is empty.

    Example:
        >>> import jax.numpy as jnp
        >>> print(adaptive_max_pool3d(jnp.arange(8.0).reshape(1, 2, 2, 2), 1).ravel())
        [7.]

    Torch: `torch.nn.functional.adaptive_max_pool3d`.
    """
    return _adaptive_max(3, input, output_size, return_indices)


def _adaptive_max(
    places: int, input: Array, output_size: OutputSize, return_indices: bool
) -> Array | MaxPool:
    name = f"adaptive_max_pool{places}d"
    x, had_batch, wanted = bin_arguments(name, places, require_floating(input, name), output_size)
    each = [bins(n, count) for n, count in zip(x.shape[2:], wanted, strict=True)]
    members, there = np.zeros((1, 1), np.int64), np.ones((1, 1), bool)
    for n, (inner, inside) in zip(x.shape[2:], each, strict=True):
        outer = members[:, None, :, None] * n + inner[None, :, None, :]
        both = there[:, None, :, None] & inside[None, :, None, :]
        shape = (outer.shape[0] * outer.shape[1], -1) if outer.size else (0, 1)
        members, there = outer.reshape(shape), both.reshape(shape)
    flat = jax.lax.stop_gradient(x.reshape(*x.shape[:2], -1))
    values = jnp.where(there, flat[:, :, members], -jnp.inf)
    nan = jnp.isnan(values)
    last = members.shape[1] - 1 - jnp.argmax(nan[..., ::-1], -1)
    # The first of the largest, also where that is -inf and what is not there has it too.
    largest = (values == values.max(-1, keepdims=True)) & there
    at = jnp.where(nan.any(-1), last, jnp.argmax(largest, -1))
    found = jnp.asarray(members)[np.arange(members.shape[0]), at].astype(jnp.int32)
    return _taken(x, found.reshape(*x.shape[:2], *wanted), had_batch, return_indices)
