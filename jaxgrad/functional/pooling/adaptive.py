"""Adaptive pooling: any input size is divided into a given number of bins, as in torch."""

from __future__ import annotations

import math
from typing import Literal, overload

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.adaptive_bins import OutputSize, adaptive_average, bin_arguments, bins
from jaxgrad.functional._core.arguments import require_floating
from jaxgrad.functional.pooling.max import MaxPool, take_maxima


def adaptive_avg_pool1d(input: Array, output_size: OutputSize) -> Array:
    """Average over `output_size` bins of the last dim.

    Args:
        input: Signal, `(N, C, L)` or `(C, L)`.
        output_size: Number of bins n. Bin i spans `floor(i L / n)` up to `ceil((i + 1) L / n)`.

    Raises:
        RuntimeError: An output size is negative, or the input is empty.

    Example:
        >>> import jax.numpy as jnp
        >>> print(adaptive_avg_pool1d(jnp.arange(5.0)[None], 3))
        [[0.5 2.  3.5]]

    Torch: `torch.nn.functional.adaptive_avg_pool1d`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Neighbouring bins overlap where n does not divide L (`jax.image.resize` interpolates).
    """
    return adaptive_average(1, input, output_size)


def adaptive_avg_pool2d(input: Array, output_size: OutputSize) -> Array:
    """Average over 2D bins of `(N, C, H, W)` or `(C, H, W)`; None keeps a dim's size.

    Raises:
        RuntimeError: An output size is negative, or the input is empty.

    Example:
        >>> import jax.numpy as jnp
        >>> print(adaptive_avg_pool2d(jnp.arange(4.0).reshape(1, 2, 2), (None, 1))[0])
        [[0.5]
         [2.5]]

    Torch: `torch.nn.functional.adaptive_avg_pool2d`.
    """
    return adaptive_average(2, input, output_size)


def adaptive_avg_pool3d(input: Array, output_size: OutputSize) -> Array:
    """Average over 3D bins of `(N, C, D, H, W)` or `(C, D, H, W)`; None keeps a dim's size.

    Raises:
        RuntimeError: An output size is negative, or the input is empty.

    Example:
        >>> import jax.numpy as jnp
        >>> print(adaptive_avg_pool3d(jnp.arange(8.0).reshape(1, 2, 2, 2), 1).ravel())
        [3.5]

    Torch: `torch.nn.functional.adaptive_avg_pool3d`.
    """
    return adaptive_average(3, input, output_size)


@overload
def adaptive_max_pool1d(
    input: Array,
    output_size: OutputSize,
    return_indices: Literal[False] = ...,
) -> Array: ...
@overload
def adaptive_max_pool1d(
    input: Array,
    output_size: OutputSize,
    *,
    return_indices: Literal[True],
) -> MaxPool: ...


def adaptive_max_pool1d(
    input: Array, output_size: OutputSize, return_indices: bool = False
) -> Array | MaxPool:
    """Maximum over each of `output_size` bins of `(N, C, L)` or `(C, L)`.

    Raises:
        RuntimeError: An output size is negative, or the input is empty.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(lambda x: adaptive_max_pool1d(x, 1).sum())(jnp.ones((1, 3))))
        [[1. 0. 0.]]

    Torch: `torch.nn.functional.adaptive_max_pool1d`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The gradient goes to the first of equal values and to the last of several NaN
           (`jnp.max` divides it among equal values, and NaN makes all of it NaN).
    """
    return _adaptive_max(1, input, output_size, return_indices)


@overload
def adaptive_max_pool2d(
    input: Array,
    output_size: OutputSize,
    return_indices: Literal[False] = ...,
) -> Array: ...
@overload
def adaptive_max_pool2d(
    input: Array,
    output_size: OutputSize,
    *,
    return_indices: Literal[True],
) -> MaxPool: ...


def adaptive_max_pool2d(
    input: Array, output_size: OutputSize, return_indices: bool = False
) -> Array | MaxPool:
    """Maximum over 2D bins of `(N, C, H, W)` or `(C, H, W)`; None keeps a dim's size.

    Raises:
        RuntimeError: An output size is negative, or the input is empty.

    Example:
        >>> import jax.numpy as jnp
        >>> print(adaptive_max_pool2d(jnp.arange(4.0).reshape(1, 2, 2), 1))
        [[[3.]]]

    Torch: `torch.nn.functional.adaptive_max_pool2d`.
    """
    return _adaptive_max(2, input, output_size, return_indices)


@overload
def adaptive_max_pool3d(
    input: Array,
    output_size: OutputSize,
    return_indices: Literal[False] = ...,
) -> Array: ...
@overload
def adaptive_max_pool3d(
    input: Array,
    output_size: OutputSize,
    *,
    return_indices: Literal[True],
) -> MaxPool: ...


def adaptive_max_pool3d(
    input: Array, output_size: OutputSize, return_indices: bool = False
) -> Array | MaxPool:
    """Maximum over 3D bins of `(N, C, D, H, W)` or `(C, D, H, W)`; None keeps a dim's size.

    Raises:
        RuntimeError: An output size is negative, or the input is empty.

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
    x, had_batch, out = bin_arguments(name, places, require_floating(input, name), output_size)
    dims = [bins(n, count) for n, count in zip(x.shape[2:], out, strict=True)]
    members, exists = np.zeros((1, 1), np.int64), np.ones((1, 1), bool)
    for n, (inner, inner_exists) in zip(x.shape[2:], dims, strict=True):
        outer = members[:, None, :, None] * n + inner[None, :, None, :]
        both = exists[:, None, :, None] & inner_exists[None, :, None, :]
        shape = (outer.shape[0] * outer.shape[1], -1) if outer.size else (0, 1)
        members, exists = outer.reshape(shape), both.reshape(shape)
    constant = jax.lax.stop_gradient(x)
    if all(count and n % count == 0 for n, count in zip(x.shape[2:], out, strict=True)):
        values = _equal_bins(constant, out)
    else:
        flat = constant.reshape(*x.shape[:2], math.prod(x.shape[2:]))
        values = jnp.where(exists, flat[:, :, members], -jnp.inf)
    at = _first_of_largest(values, exists)
    index = jnp.asarray(members)[np.arange(members.shape[0]), at].astype(jnp.int32)
    return take_maxima(x, index.reshape(*x.shape[:2], *out), had_batch, return_indices)


def _equal_bins(x: Array, counts: tuple[int, ...]) -> Array:
    """Reshape `(N, C, ...)` to `(N, C, bins, members of a bin)`; each count divides its size."""
    split = [(count, n // count) for n, count in zip(x.shape[2:], counts, strict=True)]
    axes = [2 + 2 * i + part for part in (0, 1) for i in range(len(split))]
    parts = x.reshape(*x.shape[:2], *(n for pair in split for n in pair)).transpose(0, 1, *axes)
    members = math.prod(n for _, n in split)
    return parts.reshape(*x.shape[:2], math.prod(counts), members)


def _first_of_largest(values: Array, exists: np.ndarray) -> Array:
    """Return the position of the first maximum along the last dim, or of the last NaN.

    Padding members are -inf; `exists` keeps them from winning when the maximum is -inf.
    """
    largest = values.max(-1, keepdims=True)
    candidates = (values == largest) | (values != values)  # noqa: PLR0124
    if not exists.all():
        candidates &= exists
    last = values.shape[-1] - 1
    place = jax.lax.broadcasted_iota(jnp.int32, values.shape, values.ndim - 1)
    nan = jnp.isnan(largest)
    key = jnp.where(candidates, jnp.where(nan, last - place, place), last).min(-1)
    return jnp.where(nan[..., 0], last - key, key)
