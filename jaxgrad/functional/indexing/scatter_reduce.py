"""Reducing elements that share an index, with torch's gradients for products and ties."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, exact, in_opmath, is_floating
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.indexing.gather_take import Positions, _check_range, _full_index
from jaxgrad.functional.indexing.index_add_copy_fill import _check_source, _slice_indices
from jaxgrad.functional.indexing.scatter_put import _scatter_arguments


_ROUNDING = 16  # units in the last place
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
    """Reduce the elements that share an index along a dim into the input.

    Args:
        input: Any shape.
        dim: Dim to index.
        index: As many dims as the input; must fit in `src` and, except along `dim`, in the input.
        src: Elements to reduce.
        reduce: `"sum"`, `"prod"`, `"mean"`, `"amax"` or `"amin"`; equal extremes share a gradient.
        include_self: Whether an indexed element of the input takes part in its reduction.
        torch_gradient: With `include_self=False` torch still counts an equal input element among
            the tied extremes, and its share of the gradient is lost. True reproduces that.

    Raises:
        RuntimeError: An index is negative or out of range, or shapes or dtypes are incompatible.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> i, y = jnp.array([0, 0, 1]), jnp.array([5.0, 5.0, 7.0])
        >>> print(jax.grad(lambda y: scatter_reduce(jnp.ones(2), 0, i, y, "amax").sum())(y))
        [0.5 0.5 1. ]

    Torch: `torch.scatter_reduce`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Products are differentiable, even at zeros (`.at[].multiply`: NotImplementedError).
        2. A NaN makes the gradients of all elements reduced with it NaN (`.at[].max`: 0).
    """
    reject("scatter_reduce", "bool complex", input, src)
    input, src = array(input), array(src, "src")
    if reduce not in _REDUCES:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    x, y, positions = _scatter_arguments("scatter", input, dim, index, src)
    result = _reduced(x, y, positions, reduce, include_self, torch_gradient)
    return result.reshape(input.shape)


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
    """Reduce the slices that share an index along a dim; `reduce` may not be "sum".

    Raises:
        RuntimeError: The numbers of indices and slices differ, or the dtypes do.
        IndexError: An index is negative or out of range.

    Example:
        >>> import jax.numpy as jnp
        >>> print(index_reduce(jnp.ones(2), 0, jnp.array([1, 1]), jnp.array([2.0, 3.0]), "prod"))
        [1. 6.]

    Torch: `torch.index_reduce`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Products are differentiable, even at zeros (`.at[].multiply`: NotImplementedError).
    """
    reject("index_reduce", "bool complex", input, source)
    input, source = array(input), array(source, "source")
    if reduce not in _REDUCES[1:]:
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    _check_source("index_reduce_", input, source)
    x, y, at, dim = _slice_indices("index_reduce_", input, dim, index, source, RuntimeError)
    _check_range(at, x.shape[dim], IndexError, dim)
    result = _reduced(x, y, _full_index(at, dim), reduce, include_self, torch_gradient)
    return result.reshape(input.shape)


def _reduced(
    x: Array, y: Array, positions: Positions, reduce: str, include_self: bool, torch_gradient: bool
) -> Array:
    options = {"positions": positions, "kept": include_self}
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


def _clear_unless_kept(x: Array, positions: Positions, kept: bool, neutral: Any) -> Array:
    """Return the input; unless `kept`, replace its indexed elements by the neutral element."""
    return x if kept else x.at[positions].set(jnp.asarray(neutral, x.dtype))


def _add(x: Array, y: Array, *, positions: Positions, kept: bool) -> Array:
    return _clear_unless_kept(x, positions, kept, 0).at[positions].add(y)


def _included(x: Array, positions: Positions, kept: bool) -> Array:
    """Return a mask of the input's elements that take part in the reduction."""
    return _clear_unless_kept(jnp.ones(x.shape, bool), positions, kept, False)


def _product_input_derivative(t: Any, _: Any, x: Any, y: Any, positions: Any, kept: bool) -> Any:
    divisor = jnp.where(x == 0, 1, x)
    others = _product(divisor, y, positions=positions, kept=kept)
    included = _included(x, positions, kept)
    return jnp.where(included, t, 0) * jnp.where(included, others / divisor, 0)


def _product_source_derivative(t: Any, out: Any, x: Any, y: Any, positions: Any, kept: bool) -> Any:
    zero = y == 0
    alone = zero & (jnp.zeros(x.shape, int).at[positions].add(zero)[positions] == 1)
    others = _product(x, jnp.where(alone, 1, y), positions=positions, kept=kept)[positions]
    factor = jnp.where(alone, others, out[positions] / jnp.where(zero, 1, y))
    return jnp.zeros_like(out).at[positions].add(t * factor)


@derivative(_product_input_derivative, _product_source_derivative)
def _product(x: Array, y: Array, *, positions: Positions, kept: bool) -> Array:
    return _clear_unless_kept(x, positions, kept, 1).at[positions].multiply(y)


def _shares(
    out: Array, x: Array, y: Array, positions: Positions, kept: bool, counted: bool
) -> tuple[Array, Array]:
    """Return the fractions of the gradient that go to the input's and the source's elements."""
    x_ties = (x == out).astype(x.dtype)
    if not counted:
        x_ties = jnp.where(_included(x, positions, kept), x_ties, 0)
    extreme = out[positions]
    y_ties = (y == extreme).astype(x.dtype)
    # XLA may compute an element twice, rounded in two ways, so that no element is the extreme.
    nothing = (x_ties.at[positions].add(y_ties) == 0)[positions]
    near = jnp.abs(y - extreme) <= _ROUNDING * jnp.finfo(x.dtype).eps * jnp.abs(extreme)
    y_ties = jnp.where(nothing, near, y_ties).astype(x.dtype)
    count = x_ties.at[positions].add(y_ties)
    return jnp.where(_included(x, positions, kept), x_ties / count, 0), y_ties / count[positions]


def _extreme_input_derivative(
    t: Any, out: Any, x: Any, y: Any, largest: bool, counted: bool, **options: Any
) -> Any:
    del largest
    share = _shares(out, x, y, counted=counted, **options)[0]
    return jnp.where(_included(x, **options), t, 0) * share


def _extreme_source_derivative(
    t: Any, out: Any, x: Any, y: Any, largest: bool, counted: bool, **options: Any
) -> Any:
    del largest
    share = _shares(out, x, y, counted=counted, **options)[1]
    return jnp.zeros_like(out).at[options["positions"]].add(t * share)


@derivative(_extreme_input_derivative, _extreme_source_derivative)
def _extreme(
    x: Array, y: Array, *, positions: Positions, kept: bool, largest: bool, counted: bool
) -> Array:
    del counted
    if jnp.issubdtype(x.dtype, jnp.inexact):
        start: Any = -jnp.inf if largest else jnp.inf
    else:
        limits = jnp.iinfo(x.dtype)
        start = limits.min if largest else limits.max
    target = _clear_unless_kept(x, positions, kept, start).at[positions]
    return target.max(y) if largest else target.min(y)
