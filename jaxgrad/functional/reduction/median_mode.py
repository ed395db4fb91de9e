"""Median, mode and k-th smallest value; torch's choice of the element that gets the gradient."""

from __future__ import annotations

from typing import Any, overload

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import array, canonical_dim, is_floating
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional._core.order import stable_order
from jaxgrad.functional.reduction.amax_max import (
    ValuesIndices,
    require_nonempty,
    select_along,
    split_among_ties,
)


def kthvalue(input: jax.Array, k: int, dim: int = -1, keepdim: bool = False) -> ValuesIndices:
    """Return the k-th smallest value along a dim and its index; torch's index may differ for ties.

    Raises:
        RuntimeError: `k` is not between 1 and the dim's size.
        IndexError: The dim has size 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(kthvalue(jnp.array([3.0, 1.0, 2.0]), 2).values)
        2.0

    Torch: `torch.kthvalue`.
    """
    input = array(input)
    axis = canonical_dim(dim, input.ndim)
    size = input.shape[axis] if input.ndim else 1
    if input.ndim:
        require_nonempty("kthvalue", input, dim, (axis,))
    if not 1 <= k <= size:
        raise RuntimeError(
            f"kthvalue(): selected number k out of range for dimension {axis}: k is {k} of {size}"
        )
    if not input.ndim:
        return ValuesIndices(input, jnp.zeros((), int))
    reject("kthvalue", "bool complex", input)
    indices = jax.lax.slice_in_dim(stable_order(input, axis), k - 1, k, axis=axis)
    return select_along(input, indices, axis, keepdim)


@overload
def median(input: jax.Array) -> jax.Array: ...
@overload
def median(input: jax.Array, dim: int, keepdim: bool = ...) -> ValuesIndices: ...


def median(input: jax.Array, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the lower median of all elements, or the one along a dim and its index.

    Args:
        input: Array of any shape.
        dim: None for all elements, where ties share the gradient; for an int one element gets it.
        keepdim: Whether to keep the reduced dim with size 1.

    Returns:
        An array, or `(values, indices)` if `dim` is an int.

    Raises:
        IndexError: The dim has size 0.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.array([1.0, 2.0, 3.0, 4.0])
        >>> print(median(x), jnp.median(x))
        2.0 2.5

    Torch: `torch.median`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The median of an even count is the lower one (`jnp.median`: the mean of two).
        2. Without a dim, ties share the gradient (`jnp.median`: one has it), as do NaN elements.
    """
    reject("median", "bool complex", input)
    return _median("median", input, dim, keepdim)


@overload
def nanmedian(input: jax.Array) -> jax.Array: ...
@overload
def nanmedian(input: jax.Array, dim: int, keepdim: bool = ...) -> ValuesIndices: ...


def nanmedian(input: jax.Array, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the lower median of the non-NaN elements, over all dims or along one.

    The arguments, return types and errors are those of `median`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(nanmedian(jnp.array([1.0, jnp.nan, 3.0])))
        1.0

    Torch: `torch.nanmedian`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The median of an even count is the lower one (`jnp.nanmedian`: the mean of two).
    """
    reject("nanmedian", "bool complex", input)
    return _median("nanmedian", input, dim, keepdim)


def _median(name: str, input: Any, dim: int | None, keepdim: bool) -> Any:
    input = array(input)
    skip_nan = name == "nanmedian"
    if dim is None:
        if not input.size:
            return jnp.full((), jnp.nan if is_floating(input) else jnp.iinfo(input.dtype).min,
                            input.dtype)  # fmt: skip
        return _median_of_all(input.ravel(), skip_nan=skip_nan)
    axis = canonical_dim(dim, input.ndim)
    if not input.ndim:
        return ValuesIndices(input, jnp.zeros((), int))
    require_nonempty(name, input, dim, (axis,))
    return select_along(input, _median_index(input, axis, skip_nan), axis, keepdim)


def _median_index(x: jax.Array, axis: int, skip_nan: bool) -> jax.Array:
    """Return the lower median's index, or that of the first NaN unless NaN are skipped."""
    order = stable_order(x, axis)
    nan = jnp.isnan(x)
    last = jnp.sum(~nan, axis, keepdims=True) - 1 if skip_nan else x.shape[axis] - 1
    rank = jnp.broadcast_to(jnp.maximum(last, 0) // 2, jnp.sum(nan, axis, keepdims=True).shape)
    middle = jnp.take_along_axis(order, rank, axis)
    if skip_nan:
        return middle
    first = jnp.argmax(nan, axis, keepdims=True).astype(middle.dtype)
    return jnp.where(jnp.any(nan, axis, keepdims=True), first, middle)


@derivative(split_among_ties)
def _median_of_all(x: jax.Array, *, skip_nan: bool) -> jax.Array:
    return x[_median_index(x, 0, skip_nan)[0]]


def mode(input: jax.Array, dim: int = -1, keepdim: bool = False) -> ValuesIndices:
    """Return the most frequent value along a dim (the smallest in a tie) and its last index.

    Raises:
        IndexError: The dim has size 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(*mode(jnp.array([2.0, 1.0, 1.0, 3.0, 2.0])))
        1.0 2

    Torch: `torch.mode`.

    Differs from jax in:
        1. The last of the equal elements receives the gradient.
    """
    input = array(input)
    axis = canonical_dim(dim, input.ndim)
    if not input.ndim:
        return ValuesIndices(input, jnp.zeros((), int))
    reject("mode", "complex", input)
    require_nonempty("mode", input, dim, (axis,))
    order = stable_order(input, axis)
    values = jnp.take_along_axis(jax.lax.stop_gradient(input), order, axis)
    n = input.shape[axis]
    position = jnp.arange(n).reshape(-1, *[1] * (input.ndim - axis - 1))
    changed = jnp.concatenate(
        [
            jnp.ones_like(jax.lax.slice_in_dim(values, 0, 1, axis=axis), bool),
            jax.lax.slice_in_dim(values, 1, n, axis=axis)
            != jax.lax.slice_in_dim(values, 0, n - 1, axis=axis),
        ],
        axis,
    )
    start = jax.lax.cummax(jnp.where(changed, position, 0), axis)
    # The end of the first longest run; as the order is stable, it is the value's last occurrence.
    end = jnp.argmax(position - start, axis, keepdims=True)
    return select_along(input, jnp.take_along_axis(order, end, axis), axis, keepdim)
