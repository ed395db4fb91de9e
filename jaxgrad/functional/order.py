"""Order statistics: torch's order of ties, its lower median, and which element has the gradient."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ._arguments import array, canonical_dim, is_floating, require
from ._rule import derivative
from .reductions import ValuesIndices, not_empty, picked, shared


def sort(
    input: jax.Array, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> ValuesIndices:
    """The values along a dim in order, with their indices; ties keep their order, NaN is largest.

    Args:
        input: Of any shape.
        dim: The dim.
        descending: Whether the largest comes first.
        stable: It always is, as torch's is on the CPU for up to 16 elements and beyond with True.

    Example:
        >>> import jax.numpy as jnp
        >>> print(sort(jnp.array([1.0, 2.0, 1.0]), descending=True).indices)
        [1 0 2]

    Torch: `torch.sort`.

    Differs from jax in:
        1. Descending, ties keep their order (`jnp.sort(x)[::-1]`: reversed).
    """
    del stable
    input = array(input)
    axis = canonical_dim(dim, input.ndim)
    if not input.ndim:
        return ValuesIndices(input, jnp.zeros((), int))
    at = _order(input, axis, descending)
    return ValuesIndices(jnp.take_along_axis(input, at, axis), at)


def _order(input: jax.Array, axis: int, descending: bool = False) -> jax.Array:
    fixed = jax.lax.stop_gradient(input)
    return jnp.argsort(fixed, axis, stable=True, descending=descending).astype(int)


def argsort(
    input: jax.Array, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> jax.Array:
    """The indices of `sort`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(argsort(jnp.array([3.0, 1.0, 2.0])))
        [1 2 0]

    Torch: `torch.argsort`.
    """
    return sort(input, dim, descending, stable=stable).indices


def msort(input: jax.Array) -> jax.Array:
    """The values of `sort` along the first dim.

    Example:
        >>> import jax.numpy as jnp
        >>> print(msort(jnp.array([3.0, 1.0, 2.0])))
        [1. 2. 3.]

    Torch: `torch.msort`.
    """
    return sort(input, 0).values


def topk(
    input: jax.Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> ValuesIndices:
    """The k largest values along a dim, or the smallest, in order, with their indices.

    Which element of a tie it is, torch leaves open; here it is the first.

    Args:
        input: Of any shape.
        k: How many.
        dim: The dim.
        largest: Whether the largest or the smallest.
        sorted: They always are.

    Raises:
        RuntimeError: There are not so many.

    Example:
        >>> import jax.numpy as jnp
        >>> print(topk(jnp.array([3.0, 1.0, 2.0]), 2).values)
        [3. 2.]

    Torch: `torch.topk`.
    """
    del sorted
    input = array(input)
    axis = canonical_dim(dim, input.ndim)
    size = input.shape[axis] if input.ndim else 1
    if not 0 <= k <= size:
        raise RuntimeError(f"selected index k out of range: k is {k}, the dim has {size}")
    values, at = sort(input, dim, descending=largest)
    if not input.ndim:
        return ValuesIndices(values, at)
    first = [jax.lax.slice_in_dim(x, 0, k, axis=axis) for x in (values, at)]
    return ValuesIndices(*first)


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
    at = jax.lax.slice_in_dim(_order(input, axis), k - 1, k, axis=axis)
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

    Torch: `torch.median`.

    Differs from jax in:
        1. Of an even number it is the lower one (`jnp.median`: the mean of two).
        2. Of all, ties share the gradient (`jnp.median`: one has it); a NaN has it.
    """
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

    Torch: `torch.nanmedian`.

    Differs from jax in:
        1. Of an even number it is the lower one (`jnp.nanmedian`: the mean of two).
    """
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
    order = _order(x, axis)
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
    not_empty("mode", input, dim, (axis,))
    order = _order(input, axis)
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


class Running(NamedTuple):
    """The running extreme, and where it is."""

    values: jax.Array
    indices: jax.Array


def cummax(input: jax.Array, dim: int) -> Running:
    """The running maximum along a dim, with its index; the latest of a tie, NaN wins.

    Example:
        >>> import jax.numpy as jnp
        >>> print(*cummax(jnp.array([1.0, 1.0, 0.0]), 0))
        [1. 1. 1.] [0 1 1]

    Torch: `torch.cummax`.

    Differs from jax in:
        1. The latest of a tie has the gradient (`lax.cummax`: shared).
    """
    return _running(input, dim, jnp.greater_equal)


def cummin(input: jax.Array, dim: int) -> Running:
    """The running minimum along a dim, with its index; the latest of a tie, NaN wins.

    Example:
        >>> import jax.numpy as jnp
        >>> print(*cummin(jnp.array([1.0, 1.0, 2.0]), 0))
        [1. 1. 1.] [0 1 1]

    Torch: `torch.cummin`.

    Differs from jax in:
        1. The latest of a tie has the gradient (`lax.cummin`: shared).
    """
    return _running(input, dim, jnp.less_equal)


def _running(input: Any, dim: int, wins: Any) -> Running:
    input = array(input)
    axis = canonical_dim(dim, input.ndim)
    if not input.ndim:
        return Running(input, jnp.zeros((), int))
    fixed = jax.lax.stop_gradient(input)
    place = jnp.arange(input.shape[axis]).reshape(-1, *(1 for _ in range(input.ndim - axis - 1)))
    place = jnp.broadcast_to(place, input.shape)

    def later(a: Any, b: Any) -> Any:
        taken = wins(b[0], a[0]) | jnp.isnan(b[0])
        return jnp.where(taken, b[0], a[0]), jnp.where(taken, b[1], a[1])

    _, at = jax.lax.associative_scan(later, (fixed, place), axis=axis)
    at = at.astype(int)
    return Running(jnp.take_along_axis(input, at, axis), at)


def quantile(
    input: jax.Array,
    q: jax.Array | float,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> jax.Array:
    """The q-quantiles along a dim, or of all.

    Args:
        input: float32 or float64, not empty.
        q: A number, or an array of at most one dim and of the input's dtype; its dim comes first.
        dim: The dim; None is all.
        keepdim: Whether the dim stays, with size 1.
        interpolation: `"linear"`, `"lower"`, `"higher"`, `"midpoint"` or `"nearest"`.

    Raises:
        RuntimeError: A dtype or shape does not fit, or a q is not in [0, 1] (an array's under
            `jit` only with `checkify`).

    Example:
        >>> import jax.numpy as jnp
        >>> print(quantile(jnp.array([1.0, 2.0, 3.0, 4.0]), 0.5))
        2.5

    Torch: `torch.quantile`.

    Differs from jax in:
        1. Where there is a NaN it has the gradient (`jnp.quantile`: none).
        2. `"nearest"` rounds halves to even.
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation)


def nanquantile(
    input: jax.Array,
    q: jax.Array | float,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> jax.Array:
    """The q-quantiles of what is not NaN, as of `quantile`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(nanquantile(jnp.array([1.0, jnp.nan, 3.0]), 0.5))
        2.0

    Torch: `torch.nanquantile`.
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation)


def _quantile(
    name: str, input: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str
) -> jax.Array:
    input = array(input)
    if input.dtype not in (jnp.float32, jnp.float64):
        raise RuntimeError(
            f"{name}() input tensor must be either float or double dtype, not {input.dtype}"
        )
    if not input.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    if isinstance(q, int | float):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        q = jnp.asarray(q, input.dtype)
    q = array(q, "q")
    if q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor, not of {q.ndim} dims")
    if q.dtype != input.dtype:
        raise RuntimeError(
            f"{name}() q tensor must be same dtype as the input tensor: they are {q.dtype} and "
            f"{input.dtype}"
        )
    require(
        jnp.all((q >= 0) & (q <= 1)),
        RuntimeError(f"{name}() q values must be in the range [0, 1]"),
    )
    axis = 0 if dim is None else canonical_dim(dim, input.ndim)
    rows = input.reshape(-1) if dim is None or not input.ndim else jnp.moveaxis(input, axis, -1)
    out = _interpolated(rows, q.reshape(-1), interpolation, ignores=name == "nanquantile")
    if keepdim:
        kept = [1] * input.ndim if dim is None else [*input.shape]
        if input.ndim:
            kept[axis] = 1
        out = out.reshape(q.size, *kept)
    return out if q.ndim else out[0]


def _interpolated(x: jax.Array, q: jax.Array, how: str, *, ignores: bool) -> jax.Array:
    """Quantiles along the last dim; the dim of q first."""
    ordered = jnp.take_along_axis(x, _order(x, x.ndim - 1), -1)
    nan = jnp.isnan(x)
    if ignores:
        last = jnp.maximum(jnp.sum(~nan, -1, keepdims=True) - 1, 0).astype(x.dtype)
        rank = q * last
    else:
        whole = jnp.any(nan, -1, keepdims=True)
        rank = jnp.where(whole, x.shape[-1] - 1, q * (x.shape[-1] - 1))
    fixed = jax.lax.stop_gradient(rank)
    if how == "lower":
        rank = jnp.floor(fixed)
    elif how == "higher":
        rank = jnp.ceil(fixed)
    elif how == "nearest":
        rank = jnp.round(fixed)
    low = jnp.floor(jax.lax.stop_gradient(rank)).astype(int)
    below = jnp.take_along_axis(ordered, low, -1)
    if how in ("linear", "midpoint"):
        weight = jnp.full_like(rank, 0.5) if how == "midpoint" else rank - low
        above = jnp.take_along_axis(ordered, jnp.ceil(fixed).astype(int), -1)
        below = below + weight * (above - below)
    return jnp.moveaxis(below, -1, 0)
