"""Reducing at indices: torch's gradients for products and ties."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, exact, in_opmath, is_floating
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.indexing.gather import _check_range, _full_index
from jaxgrad.functional.indexing.index_add import _slice_indices
from jaxgrad.functional.indexing.scatter import _scatter_arguments


Places = tuple[Any, ...]


_REDUCES = ("sum", "prod", "mean", "amax", "amin")


def scatter_reduce(
    input: Array,
    dim: int,
    index: Array,
    src: Array,
    reduce: str,
    *,
    include_self: bool = True,
    torch_gradient: bool = False,
) -> Array:
    """The elements that have one index along a dim, reduced to one.

    Args:
        input: Of any shape.
        dim: The dim of the indices.
        index: With as many dims; no larger than `src`, and than the input in the other dims.
        src: Elements.
        reduce: `"sum"`, `"prod"`, `"mean"`, `"amax"` or `"amin"`; equal extremes share a gradient.
        include_self: Whether the input's element is reduced too, where there is an index for it.
        torch_gradient: Without the input's element torch still counts it among the equal extremes,
            and its share of the gradient is lost. True: so here too.

    Raises:
        RuntimeError: An index is out of range or negative, or shapes or dtypes do not fit.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> i, y = jnp.array([0, 0, 1]), jnp.array([5.0, 5.0, 7.0])
        >>> print(jax.grad(lambda y: scatter_reduce(jnp.ones(2), 0, i, y, "amax").sum())(y))
        [0.5 0.5 1. ]

    Gradient conventions: docs/operators.md.
    Torch: `torch.scatter_reduce`.

    Differs from jax in:
        1. A product has a gradient, at zeros as well (`.at[].multiply`: NotImplementedError).
        2. With NaN among extremes all that are reduced with it have gradient NaN (`.at[].max`: 0).
    """
    reject("scatter_reduce", "bool complex", input, src)
    input, src = array(input), array(src, "src")
    if reduce not in _REDUCES:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    x, y, places = _scatter_arguments("scatter", input, dim, index, src)
    found = _reduced(x, y, places, reduce, include_self, torch_gradient)
    return found.reshape(input.shape)


def index_reduce(
    input: Array,
    dim: int,
    index: Array,
    source: Array,
    reduce: str,
    *,
    include_self: bool = True,
    torch_gradient: bool = False,
) -> Array:
    """The slices that have one index along a dim, reduced to one; as `scatter_reduce`, but no sum.

    Raises:
        RuntimeError: There are more or less indices than slices, or the dtypes differ.
        IndexError: An index is out of range or negative.

    Example:
        >>> import jax.numpy as jnp
        >>> print(index_reduce(jnp.ones(2), 0, jnp.array([1, 1]), jnp.array([2.0, 3.0]), "prod"))
        [1. 6.]

    Gradient conventions: docs/operators.md.
    Torch: `torch.index_reduce`.

    Differs from jax in:
        1. A product has a gradient, at zeros as well (`.at[].multiply`: NotImplementedError).
    """
    reject("index_reduce", "bool complex", input, source)
    input, source = array(input), array(source, "source")
    if reduce not in _REDUCES[1:]:
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    at, dim = _slice_indices("index_reduce_", input, dim, index, source, RuntimeError)
    _check_range(at, input.shape[dim], IndexError, dim)
    return _reduced(input, source, _full_index(at, dim), reduce, include_self, torch_gradient)


def _reduced(
    x: Array, y: Array, places: Places, reduce: str, include_self: bool, torch_gradient: bool
) -> Array:
    options = {"places": places, "kept": include_self}
    if reduce in ("sum", "mean"):
        counts = in_opmath(
            _add, jnp.full(x.shape, float(include_self)), jnp.ones(y.shape), **options
        )
        total = exact(_add, x, y, **options)
        if reduce == "sum":
            return total
        if not is_floating(total):
            return total // jnp.maximum(counts, 1).astype(total.dtype)
        counts = jnp.maximum(counts, 1)
        return in_opmath(lambda x, y: _add(x, y, **options) / counts.astype(x.dtype), x, y)
    if reduce == "prod":
        return exact(_product, x, y, **options)
    return exact(_extreme, x, y, largest=reduce == "amax", counted=torch_gradient, **options)


def _emptied(x: Array, places: Places, kept: bool, start: Any) -> Array:
    """The input, with a neutral element where something else is put in its place."""
    return x if kept else x.at[places].set(jnp.asarray(start, x.dtype))


def _add(x: Array, y: Array, *, places: Places, kept: bool) -> Array:
    return _emptied(x, places, kept, 0).at[places].add(y)


def _seen(x: Array, places: Places, kept: bool) -> Array:
    """Where the input's own element is in the result."""
    return _emptied(jnp.ones(x.shape, bool), places, kept, False)


def _product_by_input(t: Any, _: Any, x: Any, y: Any, places: Any, kept: bool) -> Any:
    whole = jnp.where(x == 0, 1, x)
    others = _product(whole, y, places=places, kept=kept)
    seen = _seen(x, places, kept)
    return jnp.where(seen, t, 0) * jnp.where(seen, others / whole, 0)


def _product_by_source(t: Any, out: Any, x: Any, y: Any, places: Any, kept: bool) -> Any:
    zero = y == 0
    alone = zero & (jnp.zeros(x.shape, int).at[places].add(zero)[places] == 1)
    others = _product(x, jnp.where(alone, 1, y), places=places, kept=kept)[places]
    factor = jnp.where(alone, others, out[places] / jnp.where(zero, 1, y))
    return jnp.zeros_like(out).at[places].add(t * factor)


@derivative(_product_by_input, _product_by_source)
def _product(x: Array, y: Array, *, places: Places, kept: bool) -> Array:
    return _emptied(x, places, kept, 1).at[places].multiply(y)


def _shares(
    out: Array, x: Array, y: Array, places: Places, kept: bool, counted: bool
) -> tuple[Array, Array]:
    """What part of a cell's gradient its own element has, and what part each of the source's."""
    mine = (x == out).astype(x.dtype)
    if not counted:
        mine = jnp.where(_seen(x, places, kept), mine, 0)
    theirs = (y == out[places]).astype(x.dtype)
    number = mine.at[places].add(theirs)
    return jnp.where(_seen(x, places, kept), mine / number, 0), theirs / number[places]


def _extreme_by_input(
    t: Any, out: Any, x: Any, y: Any, largest: bool, counted: bool, **options: Any
) -> Any:
    del largest
    share = _shares(out, x, y, counted=counted, **options)[0]
    return jnp.where(_seen(x, **options), t, 0) * share


def _extreme_by_source(
    t: Any, out: Any, x: Any, y: Any, largest: bool, counted: bool, **options: Any
) -> Any:
    del largest
    share = _shares(out, x, y, counted=counted, **options)[1]
    return jnp.zeros_like(out).at[options["places"]].add(t * share)


@derivative(_extreme_by_input, _extreme_by_source)
def _extreme(
    x: Array, y: Array, *, places: Places, kept: bool, largest: bool, counted: bool
) -> Array:
    del counted
    if jnp.issubdtype(x.dtype, jnp.inexact):
        start: Any = -jnp.inf if largest else jnp.inf
    else:
        limits = jnp.iinfo(x.dtype)
        start = limits.min if largest else limits.max
    cells = _emptied(x, places, kept, start).at[places]
    return cells.max(y) if largest else cells.min(y)
