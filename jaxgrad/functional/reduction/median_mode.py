"""One element by its rank or count: torch's lower median, and which element has the gradient."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import array, canonical_dim, is_floating
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional._core.order import stable_order
from jaxgrad.functional.reduction.amax_max import ValuesIndices, not_empty, picked, shared


def kthvalue(input: jax.Array, k: int, dim: int = -1, keepdim: bool = False) -> ValuesIndices:
    """The k-th smallest value along a dim, with its index; of a tie, which torch leaves open.

    Raises:
        RuntimeError: There is no k-th.
        IndexError: The dim is empty.

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
        not_empty("kthvalue", input, dim, (axis,))
    if not 1 <= k <= size:
        raise RuntimeError(
            f"kthvalue(): selected number k out of range for dimension {axis}: k is {k} of {size}"
        )
    if not input.ndim:
        return ValuesIndices(input, jnp.zeros((), int))
    reject("kthvalue", "bool complex", input)
    at = jax.lax.slice_in_dim(stable_order(input, axis), k - 1, k, axis=axis)
    return picked(input, at, axis, keepdim)


def median(input: jax.Array, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median of all, or along a dim with its index; of an even number the lower one.

    Args:
        input: Of any shape.
        dim: None for all: ties share the gradient. An int: one element has it.
        keepdim: Whether the dim stays, with size 1.

    Returns:
        An array, or `(values, indices)` where there is a dim.

    Raises:
        IndexError: The dim is empty.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.array([1.0, 2.0, 3.0, 4.0])
        >>> print(median(x), jnp.median(x))
        2.0 2.5

    Gradient conventions: docs/operators.md.
    Torch: `torch.median`.

    Differs from jax in:
        1. Of an even number it is the lower one (`jnp.median`: the mean of two).
        2. Of all, ties share the gradient (`jnp.median`: one has it); a NaN has it.
    """
    reject("median", "bool complex", input)
    return _median("median", input, dim, keepdim)


def nanmedian(input: jax.Array, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median of what is not NaN, as of `median`.

    Args:
        input: Of any shape.
        dim: None for all, or an int.
        keepdim: Whether the dim stays, with size 1.

    Returns:
        An array, or `(values, indices)` where there is a dim.

    Raises:
        IndexError: The dim is empty.

    Example:
        >>> import jax.numpy as jnp
        >>> print(nanmedian(jnp.array([1.0, jnp.nan, 3.0])))
        1.0

    Gradient conventions: docs/operators.md.
    Torch: `torch.nanmedian`.

    Differs from jax in:
        1. Of an even number it is the lower one (`jnp.nanmedian`: the mean of two).
    """
    reject("nanmedian", "bool complex", input)
    return _median("nanmedian", input, dim, keepdim)


def _median(name: str, input: Any, dim: int | None, keepdim: bool) -> Any:
    input = array(input)
    ignores = name == "nanmedian"
    if dim is None:
        if not input.size:
            return jnp.full((), jnp.nan if is_floating(input) else jnp.iinfo(input.dtype).min,
                            input.dtype)  # fmt: skip
        return _middle(input.ravel(), ignores=ignores)
    axis = canonical_dim(dim, input.ndim)
    if not input.ndim:
        return ValuesIndices(input, jnp.zeros((), int))
    not_empty(name, input, dim, (axis,))
    return picked(input, _middle_index(input, axis, ignores), axis, keepdim)


def _middle_index(x: jax.Array, axis: int, ignores: bool) -> jax.Array:
    """Where the lower median is; the first NaN where there is one that counts."""
    order = stable_order(x, axis)
    nan = jnp.isnan(x)
    last = jnp.sum(~nan, axis, keepdims=True) - 1 if ignores else x.shape[axis] - 1
    at = jnp.broadcast_to(jnp.maximum(last, 0) // 2, jnp.sum(nan, axis, keepdims=True).shape)
    middle = jnp.take_along_axis(order, at, axis)
    if ignores:
        return middle
    first = jnp.argmax(nan, axis, keepdims=True).astype(middle.dtype)
    return jnp.where(jnp.any(nan, axis, keepdims=True), first, middle)


@derivative(shared)
def _middle(x: jax.Array, *, ignores: bool) -> jax.Array:
    return x[_middle_index(x, 0, ignores)[0]]


def mode(input: jax.Array, dim: int = -1, keepdim: bool = False) -> ValuesIndices:
    """The most frequent value along a dim, the least of several, with the index of its last place.

    Raises:
        IndexError: The dim is empty.

    Example:
        >>> import jax.numpy as jnp
        >>> print(*mode(jnp.array([2.0, 1.0, 1.0, 3.0, 2.0])))
        1.0 2

    Torch: `torch.mode`.

    Differs from jax in:
        1. The last of the equal elements has the gradient.
    """
    input = array(input)
    axis = canonical_dim(dim, input.ndim)
    if not input.ndim:
        return ValuesIndices(input, jnp.zeros((), int))
    reject("mode", "complex", input)
    not_empty("mode", input, dim, (axis,))
    order = stable_order(input, axis)
    values = jnp.take_along_axis(jax.lax.stop_gradient(input), order, axis)
    n = input.shape[axis]
    place = jnp.arange(n).reshape(-1, *(1 for _ in range(input.ndim - axis - 1)))
    changed = jnp.concatenate(
        [
            jnp.ones_like(jax.lax.slice_in_dim(values, 0, 1, axis=axis), bool),
            jax.lax.slice_in_dim(values, 1, n, axis=axis)
            != jax.lax.slice_in_dim(values, 0, n - 1, axis=axis),
        ],
        axis,
    )
    start = jax.lax.cummax(jnp.where(changed, place, 0), axis)
    # The end of the first of the longest runs: the order is stable, so it is the last of its value.
    end = jnp.argmax(place - start, axis, keepdims=True)
    return picked(input, jnp.take_along_axis(order, end, axis), axis, keepdim)
