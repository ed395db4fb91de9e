"""Writing elements at indices, with torch's gradients for overwritten elements.

An index out of range raises an error, as `gather_take.py` explains.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, canonical_dim, exact, is_array
from jaxgrad.functional._core.derivative import derivative, not_differentiable
from jaxgrad.functional._core.dtypes import require_same_dtype
from jaxgrad.functional.indexing.gather_take import (
    Positions,
    _check_range,
    _check_shape,
    _check_wrapping_range,
    _full_index,
)


def scatter(
    input: Array, dim: int, index: Array, src: Array | float, *, reduce: str | None = None
) -> Array:
    """Write elements into the input at indices along a dim; if an index repeats, the last wins.

    Args:
        input: Any shape.
        dim: Dim to index.
        index: As many dims as the input; must fit in `src` and, except along `dim`, in the input.
        src: Elements to write, or one number.
        reduce: None, or "add" or "multiply" to combine the elements with the input's; torch has no
            gradient for these (use `scatter_reduce`).

    Raises:
        RuntimeError: An index is negative or out of range, shapes or dtypes are incompatible,
            `reduce` is unknown, or a result of `reduce` is differentiated.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> i = jnp.array([1, 1])
        >>> print(jax.grad(lambda y: scatter(jnp.zeros(2), 0, i, y).sum())(jnp.array([5.0, 6.0])))
        [1. 1.]

    Torch: `torch.scatter`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. All elements for a repeated index get the gradient (`.at[].set`: only the last).
        2. An index out of range raises an error (`.at[].set`: dropped).
    """
    input, index = array(input), array(index, "index")
    if not is_array(src):
        src = jnp.full(index.shape, src, input.dtype)
    x, y, positions = _scatter_arguments("scatter", input, dim, index, jnp.asarray(src))
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError(f"reduce argument must be either add or multiply, not {reduce!r}.")
        return _combine_at(x, y, positions=positions, reduce=reduce).reshape(input.shape)
    return _set_at(x, y, positions=positions).reshape(input.shape)


def scatter_add(input: Array, dim: int, index: Array, src: Array) -> Array:
    """Add elements to the input at indices along a dim, with the arguments of `scatter`.

    Raises:
        RuntimeError: An index is negative or out of range, or shapes or dtypes are incompatible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(scatter_add(jnp.zeros(2), 0, jnp.array([1, 1]), jnp.array([5.0, 6.0])))
        [ 0. 11.]

    Torch: `torch.scatter_add`.
    """
    input = array(input)
    x, y, positions = _scatter_arguments("scatter_add", input, dim, index, array(src, "src"))
    return exact(_add_at, x, y, positions=positions).reshape(input.shape)


def put(input: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    """Write or add elements at indices into the flattened input.

    Raises:
        IndexError: An index is out of range, or the numbers of indices and elements differ.
        RuntimeError: The dtypes differ.

    Example:
        >>> import jax.numpy as jnp
        >>> print(put(jnp.zeros((1, 2)), jnp.array([-1]), jnp.array([5.0])))
        [[0. 5.]]

    Torch: `torch.put`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. All elements for a repeated index get the gradient (`.at[].set`: only the last).
    """
    input, index, source = array(input), array(index, "index"), array(source, "source")
    require_same_dtype("put", input=input, source=source)
    if index.size != source.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.size}, index.numel() = {index.size}"
        )
    _check_wrapping_range(index, input.size, IndexError)
    flat, at = input.reshape(-1), index.reshape(-1) % max(input.size, 1)
    source = source.reshape(-1)
    if accumulate:
        return exact(_add_at, flat, source, positions=(at,)).reshape(input.shape)
    return _set_at(flat, source, positions=(at,)).reshape(input.shape)


def _not_overwritten(x: Array, positions: Positions) -> Array:
    return jnp.ones(x.shape, bool).at[positions].set(False)


@derivative(
    lambda t, _, x, __, positions: jnp.where(_not_overwritten(x, positions), t, 0),
    lambda t, out, *_, positions: jnp.zeros_like(out).at[positions].add(t),
)
def _set_at(x: Array, y: Array, *, positions: Positions) -> Array:
    return x.at[positions].set(y)


@derivative(not_differentiable("scatter"), not_differentiable("scatter"))
def _combine_at(x: Array, y: Array, *, positions: Positions, reduce: str) -> Array:
    return x.at[positions].add(y) if reduce == "add" else x.at[positions].multiply(y)


def _scatter_arguments(
    name: str, input: Array, dim: int, index: Array, src: Array
) -> tuple[Array, Array, Positions]:
    """Check the arguments; return the input, the part of the source to write, and its positions."""
    require_same_dtype(name, input=input, src=src)
    dim = canonical_dim(dim, input.ndim)
    x, at, y = (jnp.atleast_1d(z) for z in (input, array(index, "index"), src))
    _check_shape("self", x, at, dim)
    if y.ndim != at.ndim or any(a > b for a, b in zip(at.shape, y.shape, strict=True)):
        raise RuntimeError(
            f"Expected index {list(at.shape)} to be no larger than self {list(x.shape)} apart from "
            f"dimension {dim} and to be no larger size than src {list(y.shape)}"
        )
    _check_range(at, x.shape[dim], RuntimeError, dim)
    return x, y[tuple(slice(n) for n in at.shape)], _full_index(at, dim)


def _add_at(x: Array, y: Array, *, positions: Any) -> Array:
    return x.at[positions].max(y) if x.dtype == jnp.bool_ else x.at[positions].add(y)


def index_put(
    input: Array, indices: tuple[Array | None, ...], values: Array, accumulate: bool = False
) -> Array:
    """Write or add values at indices into the first dims of the input.

    Args:
        input: Any shape.
        indices: An array for each of the first dims, or None for all of a dim; they broadcast.
        values: Broadcasts to the indexed elements.
        accumulate: Whether to add the values instead of overwriting.

    Raises:
        IndexError: An index is out of range.
        RuntimeError: The dtypes differ.

    Example:
        >>> import jax.numpy as jnp
        >>> i = jnp.array([1, 1])
        >>> print(index_put(jnp.zeros(2), (i,), jnp.array([5.0, 6.0]), accumulate=True))
        [ 0. 11.]

    Torch: `torch.index_put`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. All values for a repeated index get the gradient (`.at[].set`: only the last).
    """
    input, values = array(input), array(values, "values")
    require_same_dtype("index_put", input=input, values=values)
    for dim, (n, index) in enumerate(zip(input.shape, indices, strict=False)):
        if index is not None and index.dtype != jnp.bool_:
            _check_range(jnp.where(index < 0, index + n, index), n, IndexError, dim)
    positions = tuple(slice(None) if i is None else array(i, "indices") for i in indices)
    values = jnp.broadcast_to(values, jax.eval_shape(lambda x: x[positions], input).shape)
    if accumulate:
        return exact(_add_at, input, values, positions=positions)
    return _set_at(input, values, positions=positions)
